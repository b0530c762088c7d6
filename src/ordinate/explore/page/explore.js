"use strict";
// Numbers are computed by `compute`, drawn by `charts`, asked for by `panels`. Nothing is fetched, except that a page which is served
// asks its own server to read a config that was dropped on it.
(() => {
const DATA = JSON.parse(document.getElementById("data").textContent);
const TAU = 2 * Math.PI, FIRST = String(Math.min(3, DATA.circuit.samples.length - 1));

// ---------------------------------------------------------------- arithmetic, equal to the package's

const compute = {
  geometric: (dim, base) => Array.from({ length: dim / 2 }, (_, pair) => base ** ((-2 * pair) / dim)),
  ntkBase: (base, stretch, dim) => (dim === 2 ? base : base * stretch ** (dim / (dim - 2))),

  // The pairs between which YaRN passes from kept to interpolated.
  ramp(dim, base, s) {
    const at = (turns) => (dim * Math.log(s.original_context / (turns * TAU))) / (2 * Math.log(base));
    let low = at(s.beta_fast ?? 32), high = at(s.beta_slow ?? 1);
    if (s.truncate ?? true) { low = Math.floor(low); high = Math.ceil(high); }
    return [Math.max(low, 0), Math.min(high, dim - 1)];
  },

  // Radians per token of each pair, in a row of `length` tokens.
  frequencies(dim, base, rule, s, length) {
    const plain = compute.geometric(dim, base), reached = Math.max(length || 0, s.original_context || 1);
    if (rule === "linear") return plain.map((f) => f / s.factor);
    if (rule === "ntk" || rule === "ntk-aware") return compute.geometric(dim, compute.ntkBase(base, s.factor, dim));
    if (rule === "dynamic" || rule === "dynamic-ntk") {
      const stretch = (s.factor * reached) / s.original_context - (s.factor - 1);
      return compute.geometric(dim, compute.ntkBase(base, stretch, dim));
    }
    if (rule === "stepped-ntk") {
      const stretch = 2 ** (Math.ceil(Math.log2(reached / s.original_context)) + 1) - 1;
      return compute.geometric(dim, compute.ntkBase(base, stretch, dim));
    }
    if (rule === "yarn") {
      const [low, high] = compute.ramp(dim, base, s), width = high !== low ? high - low : 0.001;
      return plain.map((f, pair) => {
        const mix = Math.min(Math.max((pair - low) / width, 0), 1);
        return (f / s.factor) * mix + f * (1 - mix);
      });
    }
    if (rule === "llama3") return plain.map((f) => {
      const turns = (s.original_context * f) / TAU, low = s.low_freq_factor, high = s.high_freq_factor;
      const kept = high > low ? Math.min(Math.max((turns - low) / (high - low), 0), 1) : Number(turns >= low);
      return ((1 - kept) * f) / s.factor + kept * f;
    });
    if (rule === "longrope") {
      const divisors = (length || 0) > s.original_context ? s.long_factor : s.short_factor;
      return plain.map((f, pair) => f / divisors[pair]);
    }
    if (rule === "proportional") {
      const turned = Math.floor(Math.floor(s.fraction * dim) / 2);
      return plain.map((f, pair) => (pair < turned ? f / (s.factor ?? 1) : 0));
    }
    return plain;
  },

  // What YaRN and LongRoPE multiply cos and sin by.
  cosSinFactor(rule, s) {
    if (s.attention_factor) return s.attention_factor;
    const size = (c) => (s.factor > 1 ? 0.1 * c * Math.log(s.factor) + 1 : 1);
    if (rule === "yarn") {
      if (s.mscale == null && s.mscale_all_dim == null) return size(1);
      return size(s.mscale ?? 1) / size(s.mscale_all_dim || 0);
    }
    if (rule === "longrope") {
      const ratio = s.claimed_context / s.original_context;
      return ratio > 1 ? Math.sqrt(1 + Math.log(ratio) / Math.log(s.original_context)) : 1;
    }
    return 1;
  },

  incomplete: (frequencies, context) => frequencies.filter((f) => f * context < TAU).length,
  similarity: (frequencies, distance) => frequencies.reduce((sum, f) => sum + Math.cos(distance * f), 0) / frequencies.length,
  softmax(scores) {
    const top = Math.max(...scores), parts = scores.map((score) => Math.exp(score - top)), sum = parts.reduce((a, b) => a + b, 0);
    return parts.map((part) => part / sum);
  },

  alibiSlopes(heads) {
    const powers = (n) => Array.from({ length: n }, (_, h) => 2 ** ((-8 * (h + 1)) / n));
    const lower = 2 ** Math.floor(Math.log2(heads));
    return [...powers(lower), ...powers(2 * lower).filter((_, h) => h % 2 === 0).slice(0, heads - lower)];
  },

  t5Borders(count, most) {  // whole numbers decide, as in the package
    const exact = Math.floor(count / 2), wide = count - exact, borders = Array.from({ length: exact }, (_, i) => i + 1);
    for (let step = 1; step < wide; step++) {
      const enough = BigInt(most) ** BigInt(step) * BigInt(exact) ** BigInt(wide - step);
      let n = BigInt(exact);
      while (n ** BigInt(wide) < enough) n++;
      borders.push(Number(n));
    }
    return borders;
  },
  t5Bucket(distance, borders, count, both) {  // distance = query - key
    const of = (n) => borders.filter((border) => border <= n).length;
    return both ? of(Math.abs(distance)) + (distance < 0 ? count / 2 : 0) : of(Math.max(distance, 0));
  },

  sinusoid: (position, dim, base) => compute.geometric(dim, base).flatMap((f) => [Math.sin(position * f), Math.cos(position * f)]),

  axisOfPairs(sections, interleaved) {
    if (!interleaved) return sections.flatMap((count, axis) => Array(count).fill(axis));
    const total = sections.reduce((a, b) => a + b, 0);
    return Array.from({ length: total }, (_, pair) => (pair < 3 * sections[pair % 3] ? pair % 3 : 0));
  },
  multimodalPositions(before, height, width, after) {  // text, an image of one frame, text
    const rows = [];
    for (let i = 0; i < before; i++) rows.push([i, i, i]);
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows.push([before, before + y, before + x]);
    const next = before + Math.max(height && width ? 1 : 0, height, width);
    for (let i = 0; i < after; i++) rows.push([next + i, next + i, next + i]);
    return rows;
  },

  cacheBytes: (groups, bytes, length) => groups.reduce(
    (sum, g) => sum + g.layers * (g.width * Math.min(length, g.window || length) * bytes + (g.state || 0)), 0),

  circuit(circuit, bits) {
    const signals = bits.map(Number);
    circuit.tables.forEach((table, node) => signals.push((table >> (2 * signals[circuit.a[node]] + signals[circuit.b[node]])) & 1));
    const scores = circuit.votes.map(([who, weight], c) => who.reduce((sum, s, i) => sum + weight[i] * signals[s], circuit.bias[c]));
    return { signals, scores, answer: scores.indexOf(Math.max(...scores)) };
  },

  // x' = (1 - leak) x + leak tanh(gain x W + input), W normalised so that what a cell sends adds to 1.
  reservoir(net, { stimulus, gain, leak, amplitude, sustained, steps }) {
    const count = net.side.length, sent = Array(count).fill(0);
    net.pre.forEach((from, edge) => { sent[from] += net.count[edge]; });
    const stimulated = net.kind.map((kind, i) => kind === stimulus || net.labels[i].includes(stimulus));
    const histories = ["left", "right"].map((side) => {
      let x = Array(count).fill(0);
      const history = [];
      for (let step = 0; step < steps; step++) {
        const drive = net.kind.map((_, i) => (stimulated[i] && net.side[i] === side && (sustained || step === 0) ? amplitude : 0));
        net.pre.forEach((from, edge) => { drive[net.post[edge]] += (gain * x[from] * net.count[edge]) / sent[from]; });
        x = x.map((value, i) => (1 - leak) * value + leak * Math.tanh(drive[i]));
        history.push(x);
      }
      return history;
    });
    const mean = (x, side) => {
      const read = x.filter((_, i) => net.kind[i] === "descending" && net.side[i] === side);
      return read.reduce((sum, value) => sum + Math.abs(value), 0) / read.length;
    };
    const table = histories.map((history) => ["left", "right"].map((side) => mean(history[steps - 1], side)));
    const crossed = table[0][1] + table[1][0], same = table[0][0] + table[1][1];
    return { table, index: crossed + same ? (crossed - same) / (crossed + same) : null, histories, mean };
  },
};

// ---------------------------------------------------------------- reading files

function settingsOf(scaling, claimed, original) {
  const s = { original_context: scaling.original_max_position_embeddings ?? original ?? claimed };
  for (const key of ["factor", "beta_fast", "beta_slow", "truncate", "attention_factor", "mscale", "mscale_all_dim", "low_freq_factor",
    "high_freq_factor", "short_factor", "long_factor"]) if (scaling[key] != null) s[key] = scaling[key];
  s.claimed_context = claimed;
  return s;
}

// The common keys of a config.json; `ordinate inspect` knows many more families.
function readConfig(config, name) {
  const c = { ...config, ...(config.text_config || {}) };
  const heads = c.num_attention_heads ?? c.n_head, hidden = c.hidden_size ?? c.n_embd ?? c.d_model;
  const count = c.num_hidden_layers ?? c.n_layer ?? c.num_layers, kv = c.num_key_value_heads ?? heads, dim = c.head_dim ?? hidden / heads;
  if (!heads || !count || !Number.isFinite(dim)) throw new Error("the file does not say how many heads and layers there are, or how wide they are");
  const scaling = c.rope_scaling || c.rope_parameters || {}, stated = scaling.rope_type ?? scaling.type ?? "none";
  const rule = stated === "default" ? "none" : stated === "su" ? "longrope" : stated;
  const base = c.rope_theta ?? scaling.rope_theta, claimed = c.max_position_embeddings ?? c.n_positions ?? null;
  const rotary = c.rotary_dim ?? Math.floor(dim * (c.partial_rotary_factor ?? c.rotary_pct ?? 1));
  const window = c.use_sliding_window === false ? null : c.sliding_window ?? null;
  const rotation = base ? { layout: null, rotary_dim: rotary, base, rule, sections: scaling.mrope_section ?? null,
    settings: settingsOf(scaling, claimed, c.original_max_position_embeddings) } : null;
  return { name, model_type: c.model_type ?? null, encoding: rotation ? "rope" : "unknown", trained: rotation?.settings.original_context ?? claimed,
    claimed, findings: [], layers: [{ name: "every layer", count, window, heads, kv_heads: kv, head_dim: dim, rotation }],
    cache: { bytes_per_value: /32/.test(c.torch_dtype ?? c.dtype ?? "") ? 4 : 2, groups: [{ layers: count, width: 2 * kv * dim, window, state: 0 }] } };
}

// The metadata of a GGUF file, as a config. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
function readGguf(buffer, name) {
  const view = new DataView(buffer);
  let at = 0;
  const need = (n) => { if (at + n > view.byteLength) throw new Error("the header goes on past the part that was read"); };
  const u32 = () => { need(4); at += 4; return view.getUint32(at - 4, true); };
  const u64 = () => { need(8); at += 8; return Number(view.getBigUint64(at - 8, true)); };
  const text = () => { const n = u64(); need(n); at += n; return new TextDecoder().decode(new Uint8Array(buffer, at - n, n)); };
  const sizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
  const value = (kind) => {
    if (kind === 8) return text();
    if (kind === 9) {
      const inner = u32(), n = u64(), list = [];
      for (let i = 0; i < n; i++) { const one = value(inner); if (i < 512) list.push(one); }
      return list;
    }
    if (!sizes[kind]) throw new Error(`a value of the unknown kind ${kind}`);
    need(sizes[kind]); at += sizes[kind];
    const p = at - sizes[kind];
    return [() => view.getUint8(p), () => view.getInt8(p), () => view.getUint16(p, true), () => view.getInt16(p, true),
      () => view.getUint32(p, true), () => view.getInt32(p, true), () => view.getFloat32(p, true), () => view.getUint8(p) !== 0, null, null,
      () => Number(view.getBigUint64(p, true)), () => Number(view.getBigInt64(p, true)), () => view.getFloat64(p, true)][kind]();
  };
  if (u32() !== 0x46554747) throw new Error("this is no GGUF file");
  const version = u32();
  if (version < 2 || version > 3) throw new Error(`version ${version} of GGUF is not read`);
  u64();
  const keys = {};
  for (let left = u64(); left > 0; left--) { const key = text(); keys[key] = value(u32()); }
  const own = (key) => keys[`${keys["general.architecture"]}.${key}`];
  const first = (x) => (Array.isArray(x) ? x[0] : x);
  const scaling = own("rope.scaling.type") && own("rope.scaling.type") !== "none" ? { rope_type: own("rope.scaling.type"),
    factor: own("rope.scaling.factor"), original_max_position_embeddings: own("rope.scaling.original_context_length") } : null;
  return readConfig({ model_type: keys["general.architecture"], num_attention_heads: first(own("attention.head_count")),
    num_key_value_heads: first(own("attention.head_count_kv")), num_hidden_layers: own("block_count"), hidden_size: own("embedding_length"),
    head_dim: own("attention.key_length"), rotary_dim: own("rope.dimension_count"), rope_theta: own("rope.freq_base") ?? 10000,
    max_position_embeddings: own("context_length"), sliding_window: own("attention.sliding_window"), rope_scaling: scaling }, name);
}

// ---------------------------------------------------------------- drawing

const SVG = "http://www.w3.org/2000/svg";
// Where each signal of the circuit stands: pixels, gates by level and near what they read, digits.
function placed(circuit, width, height) {
  const level = Array(circuit.num_inputs).fill(0), middle = Array.from(level, (_, i) => (i + 0.5) / circuit.num_inputs);
  circuit.tables.forEach((_, node) => { const [a, b] = [circuit.a[node], circuit.b[node]]; level.push(1 + Math.max(level[a], level[b])); middle.push((middle[a] + middle[b]) / 2); });
  const top = Math.max(...level) + 1, x = (n) => 8 + (n * (width - 40)) / top, places = [];
  for (let n = 0; n < top; n++) {
    const here = level.flatMap((l, i) => (l === n ? [i] : [])).sort((i, j) => middle[i] - middle[j]);
    here.forEach((i, rank) => { places[i] = [x(n), ((rank + 0.5) * height) / here.length]; });
  }
  return { places, digits: circuit.labels.map((_, c) => [x(top), ((c + 0.5) * height) / circuit.labels.length]) };
}

// The circuit as a drawing: a wire is lit where the signal it carries is 1, and so is a vote that counts.
function wiring(v) {
  const circuit = DATA.circuit, [width, height] = [480, 440], { places, digits } = placed(circuit, width, height), wires = ["", ""];
  const wire = (from, to, on) => { wires[Number(on)] += `M${from.map((n) => n.toFixed(1))}L${to.map((n) => n.toFixed(1))}`; };
  circuit.tables.forEach((_, node) => [circuit.a[node], circuit.b[node]].forEach((from) => wire(places[from], places[circuit.num_inputs + node], v.signals[from])));
  circuit.votes.forEach(([who], c) => who.forEach((from) => { if (v.signals[from]) wire(places[from], digits[c], 1); }));
  const lit = v.signals.slice(circuit.num_inputs).filter(Boolean).length;
  return element("svg", { viewBox: `0 0 ${width} ${height}`, class: "wiring", role: "img", "aria-label": `${lit} of ${circuit.tables.length} gates are lit; the answer is ${circuit.labels[v.answer]}` },
    element("path", { d: wires[0], class: "off" }), element("path", { d: wires[1], class: "on" }),
    ...places.map(([x, y], i) => element("circle", { cx: x, cy: y, r: i < circuit.num_inputs ? 2 : 4, class: `${i < circuit.num_inputs ? "pixel" : "gate"} ${v.signals[i] ? "on" : "off"}` })),
    ...digits.map(([x, y], c) => element("text", { x: x + 6, y: y + 4, ...(c === v.answer ? { class: "answer" } : {}) }, String(circuit.labels[c]))));
}

function element(kind, attributes = {}, ...children) {
  const made = ["svg", "path", "line", "text", "circle", "rect", "g"].includes(kind) ? document.createElementNS(SVG, kind) : document.createElement(kind);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
function short(x) {
  if (!Number.isFinite(x)) return "none";
  const size = Math.abs(x);
  if (size >= 1e15 || (size && size < 1e-3)) return x.toExponential(2);
  return size >= 1000 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(4)));
}
function bytes(x) {
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]) { if (x < 1024 || unit === "PiB") return `${Number(x.toPrecision(4)).toLocaleString("en")} ${unit}`; x /= 1024; }
  return "";
}

const narrow = matchMedia("(max-width: 520px)");
// Curves over x, linear or logarithmic axes, vertical marks.
function lines({ series, xlog, ylog, marks = [], xname, yname, label }) {
  const [width, height] = narrow.matches ? [300, 220] : [560, 300], right = 10, top = 22, bottom = 42;  // drawn at its size, so that letters stay legible
  const usable = (v, log) => Number.isFinite(v) && (!log || v > 1e-30);
  const points = series.flatMap((s) => s.points.filter(([x, y]) => usable(x, xlog) && usable(y, ylog)));
  const range = (values, log) => {
    let low = Math.min(...values), high = Math.max(...values);
    if (!values.length) [low, high] = [log ? 1 : 0, log ? 10 : 1];
    if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
    return [low, high];
  };
  const [x0, x1] = range(points.map((p) => p[0]), xlog), [y0, y1] = range(points.map((p) => p[1]), ylog);
  const part = (v, low, high, log) => (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
  const between = (low, high, log, step) => { const v = log ? low * (high / low) ** step : low + (high - low) * step; return Number.isInteger(low) && Number.isInteger(high) && high - low > 2 ? Math.round(v) : v; };
  const steps = [0, 0.5, 1], xs = steps.map((step) => between(x0, x1, xlog, step)), ys = steps.map((step) => between(y0, y1, ylog, step));
  const left = 12 + 7 * Math.max(...ys.map((y) => short(y).length));
  const px = (x) => left + part(x, x0, x1, xlog) * (width - left - right), py = (y) => height - bottom - part(y, y0, y1, ylog) * (height - top - bottom);
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  svg.append(element("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }), element("line", { class: "axis", x1: left, x2: left, y1: top, y2: height - bottom }));
  steps.forEach((step, n) => {
    svg.append(element("text", { x: px(xs[n]), y: height - bottom + 16, "text-anchor": step === 1 ? "end" : step ? "middle" : "start" }, short(xs[n])));
    svg.append(element("text", { x: left - 5, y: py(ys[n]) + 4, "text-anchor": "end" }, short(ys[n])));
  });
  svg.append(element("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, xname), element("text", { x: left, y: top - 9 }, yname));
  for (const mark of marks) if (usable(mark.x ?? mark.y, mark.x == null ? ylog : xlog)) {
    if (mark.x != null && mark.x >= x0 && mark.x <= x1) svg.append(element("line", { class: "mark", x1: px(mark.x), x2: px(mark.x), y1: top, y2: height - bottom }), element("text", { x: px(mark.x) + 3, y: top + 12 }, mark.name));
    if (mark.y != null && mark.y >= y0 && mark.y <= y1) svg.append(element("line", { class: "mark", x1: left, x2: width - right, y1: py(mark.y), y2: py(mark.y) }), element("text", { x: width - right, y: py(mark.y) - 4, "text-anchor": "end" }, mark.name));
  }
  series.forEach((s, number) => {
    let path = "", down = false;
    for (const [x, y] of s.points) {
      if (!usable(x, xlog) || !usable(y, ylog)) { down = false; continue; }
      path += `${down ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`; down = true;
    }
    svg.append(element("path", { class: `curve s${s.style ?? number % 4}`, d: path || "M0 0" }));
  });
  return svg;
}
function key(series) {
  const colours = ["--a", "--b", "--c", "--d"];
  return element("div", { class: "key" }, ...series.map((s, n) => element("span", { style: `--k: var(${colours[s.style ?? n % 4]})` }, s.name)));
}
function heat(rows, label) {  // values from -1 to 1
  const canvas = element("canvas", { width: rows[0].length, height: rows.length, role: "img", "aria-label": label }), context = canvas.getContext("2d");
  const image = context.createImageData(rows[0].length, rows.length);
  rows.flat().forEach((value, i) => {
    const t = Math.min(Math.max((value + 1) / 2, 0), 1);
    image.data.set([Math.round(255 * Math.min(1, 2 * t) * (t < 0.5 ? 0.55 + 0.45 * 2 * t : 1)), Math.round(255 * (1 - Math.abs(2 * t - 1) * 0.65)), Math.round(255 * Math.min(1, 2 - 2 * t)), 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
const figure = (caption, ...parts) => element("figure", {}, ...parts, element("figcaption", {}, caption));
const logarithmic = (low, high, count) => Array.from({ length: count }, (_, i) => low * (high / low) ** (i / (count - 1)));
function table(heads, rows, best = -1) {
  const made = element("table", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head))));
  rows.forEach((row, n) => made.append(element("tr", n === best ? { class: "best" } : {}, ...row.map((cell) => element("td", {}, String(cell))))));
  return element("div", { class: "wide" }, made);
}

// ---------------------------------------------------------------- the panels

const state = {};
const range = (id, label, min, max, step, value) => ({ id, label, kind: "range", min, max, step, value });
const power = (id, label, min, max, step, value) => ({ id, label, kind: "power", min, max, step, value });  // of two
const choice = (id, label, options, value) => ({ id, label, kind: "choice", options, value });
const flag = (id, label, value) => ({ id, label, kind: "flag", value });

const RULES = ["none", "linear", "ntk", "dynamic", "stepped-ntk", "yarn", "llama3", "longrope", "proportional"];
// The settings of the chosen scaling, from the sliders or, where lists of divisors are wanted, from the file.
function settings() {
  const s = { factor: state.factor, original_context: state.original, beta_fast: state.beta_fast, beta_slow: state.beta_slow, truncate: state.truncate,
    low_freq_factor: state.low_freq, high_freq_factor: state.high_freq, fraction: state.fraction, claimed_context: Math.round(state.original * state.factor), ...state.file };
  if (state.rule === "proportional") s.factor = 1;
  const pairs = state.rotary / 2;
  if (s.short_factor?.length !== pairs || s.long_factor?.length !== pairs) {
    s.short_factor = Array(pairs).fill(1);
    s.long_factor = Array.from({ length: pairs }, (_, pair) => state.factor ** (pair / Math.max(pairs - 1, 1)));
  }
  return s;
}
const rotation = () => compute.frequencies(state.rotary, state.base, state.rule, settings(), state.length);

const panels = [
  { id: "frequencies", title: "RoPE: how fast each pair turns",
    text: ["A rotary encoding splits a head into pairs of channels and turns each pair by its position times a frequency. Fast pairs tell neighbours apart, slow ones tell far from near. A pair whose wavelength is longer than the trained context never turned once in training: past that context it meets angles the model has not seen. A scaling changes the frequencies so that longer rows stay inside what was seen."],
    controls: [power("base", "Base (rope_theta)", 3.5, 24, 0.125, 10000), range("rotary", "Rotated channels", 2, 256, 2, 128),
      choice("rule", "Scaling", RULES, "none"), range("factor", "Factor", 1, 64, 0.5, 4), power("original", "Trained context", 8, 20, 0.5, 8192),
      power("length", "Length of the row", 8, 24, 0.25, 32768), range("beta_fast", "YaRN: kept above so many turns", 2, 64, 1, 32),
      range("beta_slow", "YaRN: interpolated below", 0.5, 8, 0.5, 1), flag("truncate", "YaRN: whole pairs", true),
      range("low_freq", "Llama 3: low factor", 0.5, 4, 0.25, 1), range("high_freq", "Llama 3: high factor", 1, 8, 0.25, 4),
      range("fraction", "Proportional: share that turns", 0.05, 1, 0.05, 0.25)],
    values() {
      const s = settings(), after = rotation(), before = compute.geometric(state.rotary, state.base);
      return { before, after, factor: compute.cosSinFactor(state.rule, s), ramp: compute.ramp(state.rotary, state.base, s),
        incomplete_before: compute.incomplete(before, state.original), incomplete_after: compute.incomplete(after, state.original) };
    },
    draw(v) {
      const waves = (list) => list.map((f, pair) => [pair, TAU / f]);
      const series = [{ name: "plain", points: waves(v.before), style: 0 }, ...(state.rule === "none" ? [] : [{ name: state.rule, points: waves(v.after), style: 1 }])];
      const [low, high] = v.ramp, width = high !== low ? high - low : 0.001;
      const ramp = [{ name: "share interpolated", points: v.before.map((_, pair) => [pair, Math.min(Math.max((pair - low) / width, 0), 1)]), style: 3 }];
      return [element("p", {}, `${v.incomplete_before} of ${v.before.length} pairs never complete a turn in ${short(state.original)} tokens`
          + (state.rule === "none" ? "." : `; with ${state.rule}, ${v.incomplete_after}; cos and sin are multiplied by ${short(v.factor)}.`)),
        element("div", { class: "charts" },
          figure("Tokens for one turn, by pair. Above the dashed line a pair never turns once in training.", lines({ series, ylog: true, xname: "pair", yname: "wavelength, tokens",
            marks: [{ y: state.original, name: "trained context" }, { y: state.length, name: "this row" }], label: "Wavelength by pair" }), key(series)),
          figure(`YaRN's ramp: pairs below ${short(low)} keep their frequency, pairs above ${short(high)} are interpolated.`, lines({ series: ramp, xname: "pair", yname: "share", label: "YaRN's ramp by pair" })))];
    } },

  { id: "turning", title: "One pair turning",
    text: ["The same two channels of a query and of a key, turned by their positions. Their product depends only on the angle between them, and that only on the distance."],
    controls: [range("pair", "Pair", 0, 127, 1, 8), range("query_at", "Position of the query", 0, 512, 1, 20), range("key_at", "Position of the key", 0, 512, 1, 5), flag("running", "Let positions run", false)],
    values() {
      const f = rotation()[Math.min(state.pair, state.rotary / 2 - 1)];
      return { frequency: f, query: state.query_at * f, key: state.key_at * f, product: Math.cos((state.query_at - state.key_at) * f) };
    },
    draw(v) {
      const svg = element("svg", { viewBox: "0 0 300 240", role: "img", "aria-label": "Two hands on a circle" }, element("circle", { cx: 150, cy: 120, r: 100, fill: "none", class: "axis" }));
      [[v.query, "query", 0], [v.key, "key", 1]].forEach(([angle, name, style]) => {
        const x = 150 + 100 * Math.cos(angle), y = 120 - 100 * Math.sin(angle);
        svg.append(element("line", { x1: 150, y1: 120, x2: x, y2: y, class: `curve hand s${style}`, "stroke-width": 3 }), element("text", { x: 150 + 116 * Math.cos(angle) - 14, y: 124 - 112 * Math.sin(angle) }, name));
      });
      return [element("p", {}, `Pair ${Math.min(state.pair, state.rotary / 2 - 1)} turns ${short(v.frequency)} radians a token, once in ${short(TAU / v.frequency)} tokens. Distance ${state.query_at - state.key_at}: product ${short(v.product)}.`),
        element("div", { class: "charts" }, figure("Where the pair points at the two positions.", svg))];
    } },

  { id: "distance", title: "Similarity and attention by distance",
    text: ["With equal query and key, all pairs together give a score that falls with the distance, in waves. Softmax over the past makes attention of it. ALiBi instead subtracts a slope times the distance, another slope for each head."],
    controls: [power("reach", "Past tokens", 4, 13, 0.5, 1024), range("sharpness", "Sharpness of the scores", 1, 40, 1, 12), range("slope_head", "ALiBi head", 1, 32, 1, 4), range("heads", "Heads", 1, 64, 1, 8)],
    values() {
      const f = rotation(), slopes = compute.alibiSlopes(state.heads), slope = slopes[Math.min(state.slope_head, state.heads) - 1];
      const reach = Math.min(Math.round(state.reach), 8192), step = Math.max(1, Math.floor(reach / 512));
      const distances = Array.from({ length: Math.floor(reach / step) }, (_, i) => i * step), similarity = distances.map((d) => compute.similarity(f, d));
      return { distances, similarity, rope: compute.softmax(similarity.map((s) => state.sharpness * s)), alibi: compute.softmax(distances.map((d) => -slope * d)), slope };
    },
    draw(v) {
      const over = (list) => v.distances.map((d, i) => [d, list[i]]);
      const series = [{ name: "RoPE", points: over(v.rope), style: 0 }, { name: `ALiBi, slope ${short(v.slope)}`, points: over(v.alibi), style: 1 }];
      return [element("div", { class: "charts" }, figure("Mean cosine over all pairs, by distance.", lines({ series: [{ points: over(v.similarity) }], xname: "distance, tokens", yname: "similarity", label: "Similarity by distance" })),
        figure("Attention to each of the past tokens shown.", lines({ series, ylog: true, xname: "distance, tokens", yname: "attention", label: "Attention by distance" }), key(series)))];
    } },

  { id: "biases", title: "ALiBi and T5 by head and distance",
    text: ["ALiBi has a fixed slope for each head. T5 learns one number for each bucket of distances: near ones have a bucket each, far ones share."],
    controls: [range("bias_heads", "Heads", 1, 64, 1, 8), range("buckets", "T5 buckets", 4, 64, 4, 32), power("most", "T5: largest distance", 6, 12, 1, 128), flag("both", "T5: both directions", true)],
    values() {
      const borders = compute.t5Borders(state.both ? state.buckets / 2 : state.buckets, Math.round(state.most));
      const distances = Array.from({ length: 401 }, (_, i) => i - 200);
      return { slopes: compute.alibiSlopes(state.bias_heads), distances, buckets: distances.map((d) => compute.t5Bucket(d, borders, state.buckets, state.both)) };
    },
    draw(v) {
      const series = v.slopes.map((slope) => ({ points: [[0, 0], [64, -64 * slope]] }));
      return [element("div", { class: "charts" }, figure("What ALiBi adds to a score, a line for each head.", lines({ series, xname: "distance, tokens", yname: "bias", label: "ALiBi by head" })),
        figure("T5's bucket of each distance, query minus key.", lines({ series: [{ points: v.distances.map((d, i) => [d, v.buckets[i]]) }], xname: "distance, tokens", yname: "bucket", label: "T5 buckets" })))];
    } },

  { id: "sinusoids", title: "Sinusoids, and what a shift does to them",
    text: ["The first transformers added sines and cosines of many wavelengths to the embeddings. Moving every position by the same amount turns each pair by a fixed angle, so the similarity of two positions depends on their distance alone."],
    controls: [range("sin_dim", "Channels", 4, 128, 4, 64), power("sin_base", "Base", 4, 20, 0.25, 10000), range("shift", "Shift, tokens", 0, 100, 1, 10)],
    values() {
      const rows = Array.from({ length: 100 }, (_, p) => compute.sinusoid(p, state.sin_dim, state.sin_base)), moved = compute.sinusoid(20 + state.shift, state.sin_dim, state.sin_base);
      const product = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0) / (state.sin_dim / 2);
      return { rows, moved, at_20: product(rows[20], moved), at_0: product(rows[0], compute.sinusoid(state.shift, state.sin_dim, state.sin_base)), by_distance: rows.map((row) => product(rows[0], row)) };
    },
    draw(v) {
      return [element("p", {}, `Similarity of positions 20 and ${20 + state.shift}: ${short(v.at_20)}; of 0 and ${state.shift}: ${short(v.at_0)}.`),
        element("div", { class: "charts" }, figure("Rows are the positions 0 to 99, columns the channels.", heat(v.rows, "Sinusoids of 100 positions")),
          figure("Similarity to position 0.", lines({ series: [{ points: v.by_distance.map((s, d) => [d, s]) }], xname: "distance, tokens", yname: "similarity", label: "Similarity by distance", marks: [{ x: state.shift, name: "shift" }] })))];
    } },

  { id: "axes", title: "M-RoPE: positions with three axes",
    text: ["Models that see give an image's patches a time, a height and a width. Each axis owns a share of the pairs. Text has the same number on all three, and goes on behind the largest number an image used."],
    controls: [range("pairs_time", "Pairs of time", 1, 64, 1, 16), range("pairs_height", "Pairs of height", 1, 64, 1, 24), range("pairs_width", "Pairs of width", 1, 64, 1, 24), flag("interleaved", "Interleaved (Qwen3-VL)", false),
      range("before", "Text before", 0, 12, 1, 3), range("grid_height", "Patches high", 1, 6, 1, 2), range("grid_width", "Patches wide", 1, 8, 1, 3), range("after", "Text after", 0, 8, 1, 2)],
    values() {
      const sections = [state.pairs_time, state.pairs_height, state.pairs_width], owners = compute.axisOfPairs(sections, state.interleaved);
      const placed = sections.map((_, axis) => owners.filter((owner) => owner === axis).length);
      return { owners, fits: placed.every((n, axis) => n === sections[axis]), positions: compute.multimodalPositions(state.before, state.grid_height, state.grid_width, state.after) };
    },
    draw(v) {
      const cells = element("div", { class: "cells", role: "img", "aria-label": "The axis of each pair" }, ...v.owners.map((axis) => element("i", { style: `background: var(${["--a", "--b", "--c"][axis]})`, title: ["time", "height", "width"][axis] })));
      return [element("p", {}, v.fits ? "" : "These sections do not fit: interleaved, an axis cannot have more pairs than come round to it."),
        element("div", { class: "charts" }, figure("Which axis turns which pair.", cells, key([{ name: "time", style: 0 }, { name: "height", style: 1 }, { name: "width", style: 2 }])),
          figure("Positions of each token.", table(["token", "time", "height", "width"], v.positions.map((row, i) => [i, ...row]))))];
    } },

  { id: "memory", title: "Memory of the key-value cache",
    text: ["Each token leaves its keys and values in every layer. Layers with a window keep no more than the window, recurrent layers keep a state of constant size."],
    controls: [power("context", "Tokens", 8, 24, 0.25, 32768), range("sequences", "Sequences", 1, 64, 1, 1), choice("cache_type", "Numbers kept as", ["as in the file", "f32", "f16", "q8_0", "q4_0"], "as in the file")],
    values() {
      const cache = model().cache, size = { f32: 4, f16: 2, q8_0: 34 / 32, q4_0: 18 / 32 }[state.cache_type] ?? cache.bytes_per_value, n = Math.round(state.context);
      return { bytes: state.sequences * compute.cacheBytes(cache.groups, size, n), size, curve: logarithmic(256, 2 ** 24, 60).map((x) => [x, state.sequences * compute.cacheBytes(cache.groups, size, Math.round(x))]) };
    },
    draw(v) {
      if (!model().cache.groups.length) return [element("p", {}, "This model keeps no cache, or its file does not say how wide it is.")];
      return [element("p", {}, `${bytes(v.bytes)} for ${state.sequences} ${state.sequences === 1 ? "sequence" : "sequences"} of ${short(Math.round(state.context))} tokens.`),
        element("div", { class: "charts" }, figure("GiB by length.", lines({ series: [{ points: v.curve.map(([x, y]) => [x, y / 2 ** 30]) }], xlog: true, ylog: true, xname: "tokens", yname: "GiB", label: "Memory by length", marks: [{ x: state.context, name: "here" }] })))];
    } },

  { id: "circuit", title: "A classifier of logic gates",
    text: ["Draw a digit, or take one. Each dot in the drawing is a gate of two inputs; lit, its output is 1. Gates vote for digits, and the votes are counted. It was grown by the package on 8 by 8 images, gate by gate."],
    controls: [choice("sample", "Take a test image", ["none", ...DATA.circuit.samples.map((_, i) => String(i))], FIRST)],
    values: () => compute.circuit(DATA.circuit, state.bits),
    draw(v) {
      const pad = element("div", { class: "pad", role: "group", "aria-label": "Drawing, 8 by 8; arrow keys move, space draws" });
      state.bits.forEach((bit, i) => pad.append(element("button", { type: "button", role: "switch", "aria-checked": String(Boolean(bit)), "aria-label": `row ${Math.floor(i / 8) + 1}, column ${(i % 8) + 1}`, "data-pixel": i, tabindex: i === state.pixel ? 0 : -1 })));
      const clear = element("button", { type: "button", id: "clear" }, "Clear");
      return [element("p", {}, `It reads ${DATA.circuit.labels[v.answer]}. ${(DATA.circuit.accuracy * 100).toFixed(1)} % of the test images are read right.`),
        element("div", { class: "charts" }, element("div", {}, pad, element("p", {}, clear)), figure(`Pixels at the left, ${DATA.circuit.tables.length} gates by level, digits at the right; what is 1 is lit.`, wiring(v)),
          figure("Votes.", table(["digit", "votes"], v.scores.map((score, c) => [DATA.circuit.labels[c], short(score)]), v.answer)))];
    } },

  { id: "reservoir", title: "A network with a left and a right",
    text: ["A small two-sided network, drawn from a seed: it is no brain. Cells of one side are stimulated; after some steps the descending cells, which command a body, are read on either side. An index above 0 means that the answer crosses to the other side."],
    controls: [choice("stimulus", "Stimulated", ["sensory", "ascending", "olfactory", "visual"], "sensory"), range("steps", "Steps", 1, 20, 1, 5), range("gain", "Gain", 0.1, 3, 0.1, 1), range("leak", "Leak rate", 0.05, 1, 0.05, 1),
      range("amplitude", "Strength", 0.1, 3, 0.1, 1), flag("sustained", "At every step", true)],
    values() {
      const { table: two, index } = compute.reservoir(DATA.reservoir, state);
      return { table: two, index };
    },
    draw(v) {
      const result = compute.reservoir(DATA.reservoir, state), series = [];
      ["left", "right"].forEach((side, s) => ["left", "right"].forEach((read, r) => series.push({ name: `stimulus ${side}, read ${read}`, style: 2 * s + r, points: result.histories[s].map((x, t) => [t + 1, result.mean(x, read)]) })));
      return [element("p", {}, v.index == null ? "Nothing arrives at the descending cells." : `Index ${short(v.index)}: the answer ${v.index > 0 ? "crosses" : "stays on its side"}.`),
        element("div", { class: "charts" }, figure("Mean activity of the descending cells, by step.", lines({ series, xname: "step", yname: "activity", label: "Activity by step" }), key(series)),
          figure("At the last step.", table(["stimulus", "read left", "read right"], [["left", ...v.table[0].map(short)], ["right", ...v.table[1].map(short)]])))];
    } },
];

// ---------------------------------------------------------------- page

const main = document.getElementById("main"), select = document.getElementById("model"), message = document.getElementById("message");
const model = () => DATA.models[Number(select.value) || 0];
const inputs = {};

function control(c, panel) {
  state[c.id] = c.value;
  let input;
  if (c.kind === "choice") {
    input = element("select", { id: c.id }, ...c.options.map((option) => element("option", { value: option }, option)));
    input.value = c.value;
  } else if (c.kind === "flag") {
    input = element("input", { id: c.id, type: "checkbox" });
    input.checked = c.value;
  } else {
    input = element("input", { id: c.id, type: "range", min: c.min, max: c.max, step: c.step });
    input.value = c.kind === "power" ? Math.log2(c.value) : c.value;
  }
  const output = element("output", { for: c.id });
  const label = element("label", c.kind === "flag" ? { class: "row" } : {}, ...(c.kind === "flag" ? [input, ` ${c.label}`] : [element("span", {}, `${c.label} `, output), input]));
  inputs[c.id] = { input, output, c };
  input.addEventListener("input", () => {
    state[c.id] = c.kind === "flag" ? input.checked : c.kind === "choice" ? input.value : c.kind === "power" ? Math.round(2 ** Number(input.value)) : Number(input.value);
    if (panel.id === "frequencies") state.file = {};
    if (c.id === "sample") take(input.value);
    if (c.id === "running") run();
    show();
  });
  return label;
}
function set(id, value) {
  const { input, c } = inputs[id];
  state[id] = value;
  if (c.kind === "flag") input.checked = value;
  else if (c.kind === "choice") input.value = value;
  else input.value = c.kind === "power" ? Math.log2(value) : value;
}
function take(name) {
  state.bits = name === "none" ? Array(DATA.circuit.num_inputs).fill(0) : [...DATA.circuit.samples[Number(name)]].map(Number);
}

state.file = {}; state.pixel = 0;
const body = {};
for (const panel of panels) {
  const section = element("section", { id: panel.id, "aria-labelledby": `${panel.id}-title` }, element("h2", { id: `${panel.id}-title` }, panel.title), ...panel.text.map((t) => element("p", {}, t)));
  section.append(element("div", { class: "controls" }, ...panel.controls.map((c) => control(c, panel))), body[panel.id] = element("div"));
  main.append(section);
  document.getElementById("sections").append(element("li", {}, element("a", { href: `#${panel.id}` }, panel.title)));
}
take(FIRST);

let drawn = {};
function show() {
  for (const { input, output, c } of Object.values(inputs)) if (c.kind !== "choice" && c.kind !== "flag") { output.textContent = short(state[c.id]); input.setAttribute("aria-valuetext", short(state[c.id])); }
  for (const panel of panels) {
    const values = panel.values(), text = JSON.stringify([values, panel.controls.map((c) => state[c.id]), panel.id === "memory" ? select.value : "", panel.id === "circuit" ? state.pixel : "", narrow.matches]);
    if (drawn[panel.id] === text) continue;
    drawn[panel.id] = text;
    const focused = document.activeElement?.dataset?.pixel;
    body[panel.id].replaceChildren(...panel.draw(values));
    if (panel.id === "circuit" && focused != null) body.circuit.querySelector(`[data-pixel="${state.pixel}"]`).focus();
  }
}

function facts() {
  const m = model(), layer = m.layers.find((one) => one.rotation) ?? m.layers[0], turn = layer?.rotation, list = document.getElementById("facts");
  const rows = [["encoding", m.encoding], ["trained context", m.trained == null ? "unknown" : short(m.trained)], ["claimed context", m.claimed == null ? "no limit, or unknown" : short(m.claimed)],
    ["layers", m.layers.map((one) => `${one.count} ${one.name}${one.window ? `, window ${short(one.window)}` : ""}`).join("; ")]];
  if (turn) rows.push(["rotation", `${turn.rotary_dim} of ${layer.head_dim} channels, base ${short(turn.base)}, scaling ${turn.rule}`]);
  list.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]), ...m.findings.flatMap((f) => [element("dt", {}, f.severity), element("dd", { class: `finding ${f.severity}` }, f.message)]));
  if (turn) {
    set("base", turn.base); set("rotary", turn.rotary_dim);
    const names = { "dynamic-ntk": "dynamic", "ntk-aware": "ntk", default: "none" };
    set("rule", RULES.includes(names[turn.rule] ?? turn.rule) ? names[turn.rule] ?? turn.rule : "none");
    for (const [id, name] of [["factor", "factor"], ["original", "original_context"], ["beta_fast", "beta_fast"], ["beta_slow", "beta_slow"], ["low_freq", "low_freq_factor"], ["high_freq", "high_freq_factor"], ["fraction", "fraction"], ["truncate", "truncate"]])
      if (turn.settings[name] != null) set(id, turn.settings[name]);
    if (turn.settings.original_context == null && m.trained) set("original", m.trained);
    state.file = Object.fromEntries(Object.entries(turn.settings).filter(([, value]) => value != null));
    if (turn.sections?.length === 3) { set("pairs_time", turn.sections[0]); set("pairs_height", turn.sections[1]); set("pairs_width", turn.sections[2]); }
  }
  if (layer?.heads) { set("heads", Math.min(layer.heads, 64)); set("bias_heads", Math.min(layer.heads, 64)); }
  if (m.claimed) { set("context", m.claimed); set("length", m.claimed); }
  show();
}
function fill(chosen = 0) {
  select.replaceChildren(...DATA.models.map((m, i) => element("option", { value: i }, m.name)));
  select.value = chosen;
  facts();
}
select.addEventListener("input", () => { message.textContent = ""; facts(); });

async function read(file) {
  try {
    let result;
    if (/\.gguf$/i.test(file.name)) result = readGguf(await file.slice(0, 64 << 20).arrayBuffer(), file.name);
    else {
      const text = await file.text(), config = JSON.parse(text);
      if (location.protocol.startsWith("http")) {
        const answer = await (await fetch("/inspect", { method: "POST", body: text })).json();
        if (answer.error) throw new Error(answer.error);
        result = { ...answer, name: file.name };
      } else result = readConfig(config, file.name);
    }
    DATA.models.unshift(result);
    message.textContent = `${file.name} is read.`;
    fill(0);
  } catch (error) {
    message.textContent = `${file.name} cannot be read: ${error.message}`;
  }
}
document.getElementById("file").addEventListener("change", (event) => { if (event.target.files[0]) read(event.target.files[0]); });
for (const name of ["dragenter", "dragover"]) document.addEventListener(name, (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
for (const name of ["dragleave", "drop"]) document.addEventListener(name, (event) => { event.preventDefault(); document.body.classList.remove("dropping"); });
document.addEventListener("drop", (event) => { if (event.dataTransfer.files[0]) read(event.dataTransfer.files[0]); });

// drawing: pointer, or arrow keys and space
const circuit = document.getElementById("circuit");
function dot(i, value) { state.bits[i] = value ?? 1 - state.bits[i]; state.pixel = i; inputs.sample.input.value = "none"; state.sample = "none"; show(); }
let painting = null;
circuit.addEventListener("pointerdown", (event) => { const i = event.target.dataset?.pixel; if (i != null) { event.preventDefault(); painting = 1 - state.bits[i]; dot(Number(i), painting); } });
circuit.addEventListener("pointermove", (event) => { if (painting == null) return; const i = document.elementFromPoint(event.clientX, event.clientY)?.dataset?.pixel; if (i != null && state.bits[i] !== painting) dot(Number(i), painting); });
document.addEventListener("pointerup", () => { painting = null; });
circuit.addEventListener("click", (event) => { if (event.target.id === "clear") { take("none"); inputs.sample.input.value = "none"; state.sample = "none"; show(); } else if (event.target.dataset?.pixel != null && event.detail === 0) dot(Number(event.target.dataset.pixel)); });
circuit.addEventListener("keydown", (event) => {
  const i = event.target.dataset?.pixel, step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -8, ArrowDown: 8 }[event.key];
  if (i == null || !step) return;
  event.preventDefault();
  const next = Number(i) + step;
  if (next < 0 || next > 63 || (Math.abs(step) === 1 && Math.floor(next / 8) !== Math.floor(i / 8))) return;
  state.pixel = next; show();
});

narrow.addEventListener("change", show);  // a telephone that is turned
// positions that run, where motion is welcome
const still = matchMedia("(prefers-reduced-motion: reduce)");
let timer = null;
function run() {
  clearInterval(timer);
  if (state.running && !still.matches) timer = setInterval(() => { set("query_at", (state.query_at + 1) % 513); set("key_at", (state.key_at + 1) % 513); show(); }, 60);
  if (state.running && still.matches) { set("running", false); message.textContent = "Motion is switched off in your settings."; }
}

fill(0);
window.explore = { state, values: (id) => panels.find((panel) => panel.id === id).values(), controls: panels.flatMap((panel) => panel.controls.map((c) => ({ panel: panel.id, id: c.id, kind: c.kind, options: c.options ?? null, min: c.min ?? null, max: c.max ?? null }))), models: DATA.models, settings, readConfig, readGguf };
})();
