"use strict";
// Leaves the claims of one source or of one verdict; a link to a claim that is left out brings all back.
(() => {
  const form = document.querySelector(".filter"), output = form.querySelector("output");
  const lines = document.querySelectorAll("tr[data-article], section[data-article]");
  const total = document.querySelectorAll("section[data-article]").length;

  const apply = () => {
    const { article, verdict } = form.elements;
    let left = 0;
    for (const line of lines) {
      line.hidden = (article.value !== "" && line.dataset.article !== article.value) ||
        (verdict.value !== "" && line.dataset.verdict !== verdict.value);
      if (!line.hidden && line.tagName === "SECTION") left += 1;
    }
    for (const heading of document.querySelectorAll("h2[data-article]")) {
      heading.hidden = !document.querySelector(`section[data-article="${heading.dataset.article}"]:not([hidden])`);
    }
    output.textContent = left === total ? `${total} ${total === 1 ? "claim" : "claims"}` : `${left} of ${total} claims`;
  };
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.hidden) return;
    form.reset();
    apply();
    target.scrollIntoView();
  };
  form.hidden = false;
  form.addEventListener("change", apply);
  window.addEventListener("hashchange", reveal);
  apply();
})();
