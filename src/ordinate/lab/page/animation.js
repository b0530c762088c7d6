"use strict";
// Draws each animation of the page: true curves, one point carried ahead per frame, earlier predictions kept.
(() => {
  const WIDTH = 760, HEIGHT = 520, LEFT = 44, RIGHT = 14, TOP = 8, BOTTOM = 44, FRAMES_PER_SECOND = 6;

  const element = (parent, name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };

  const drawStill = (svg, data) => {
    const last = data.channels[0].truth.length - 1;
    const x = (position) => LEFT + (position / last) * (WIDTH - LEFT - RIGHT);
    const band = (HEIGHT - TOP - BOTTOM) / data.channels.length;
    const panels = data.channels.map((channel, index) => {
      const top = TOP + index * band + 24, bottom = TOP + (index + 1) * band - 8;
      const low = Math.min(...channel.truth, -1), high = Math.max(...channel.truth, 1);
      const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
      element(svg, "text", { x: LEFT, y: top - 7 }, channel.label);
      for (const value of [1, 0, -1]) {
        element(svg, "line", { class: "rule", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) });
        element(svg, "text", { class: "quiet", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, value);
      }
      const points = channel.truth.map((value, position) => `${x(position).toFixed(1)},${y(value).toFixed(1)}`);
      element(svg, "polyline", { class: "truth", points: points.join(" ") });
      return { channel, y, moving: element(svg, "g", {}) };
    });
    for (let position = 0; position <= last; position += 10) {
      element(svg, "text", { class: "quiet", x: x(position), y: HEIGHT - BOTTOM + 14, "text-anchor": "middle" }, position);
    }
    element(svg, "text", { class: "quiet", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" },
      "position (tokens); vertical: value of the channel");
    return { x, panels };
  };

  const drawFrame = (still, data, frame) => {
    for (const { channel, y, moving } of still.panels) {
      moving.replaceChildren();
      for (let earlier = 0; earlier < frame; earlier += 1) {
        const cx = still.x(data.frames[earlier] + data.ahead);
        element(moving, "circle", { class: "earlier", cx, cy: y(channel.predicted[earlier]), r: 2.6 });
      }
      const from = data.frames[frame], to = from + data.ahead;
      const x1 = still.x(from), y1 = y(channel.truth[from]), x2 = still.x(to), y2 = y(channel.predicted[frame]);
      element(moving, "path", { class: "jump", d: `M${x1},${y1} L${x2},${y2}` });
      element(moving, "circle", { class: "from", cx: x1, cy: y1, r: 4.5 });
      element(moving, "circle", { class: "to", cx: x2, cy: y2, r: 5 });
    }
  };

  for (const figure of document.querySelectorAll("figure[data-frames]")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const slider = figure.querySelector("input"), button = figure.querySelector("button");
    const output = figure.querySelector("output");
    const still = drawStill(figure.querySelector("svg"), data);
    let timer = null;

    const show = () => {
      const frame = Number(slider.value), from = data.frames[frame];
      drawFrame(still, data, frame);
      const message = `position ${from} carried to ${from + data.ahead}: largest error over all channels ` +
        data.errors[frame].toExponential(1);
      output.textContent = message;
      slider.setAttribute("aria-valuetext", message);
      figure.dataset.frame = String(frame);
    };
    const pause = () => {
      clearInterval(timer);
      timer = null;
      button.textContent = "Play";
      button.setAttribute("aria-pressed", "false");
    };
    const play = () => {
      if (slider.value === slider.max) slider.value = "0";
      show();
      button.textContent = "Pause";
      button.setAttribute("aria-pressed", "true");
      timer = setInterval(() => {
        slider.value = String(Number(slider.value) + 1);
        show();
        if (slider.value === slider.max) pause();
      }, 1000 / FRAMES_PER_SECOND);
    };

    slider.max = String(data.frames.length - 1);
    slider.addEventListener("input", () => { pause(); show(); });
    button.addEventListener("click", () => (timer === null ? play() : pause()));
    show();
  }
})();
