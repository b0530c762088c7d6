"""Running a model past its context: `methods` judges, `dialects` spells the edit, `cost` measures it, `plan` proves it."""
