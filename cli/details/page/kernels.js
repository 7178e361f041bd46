// Where the time goes: the kernels of both models as bars, in the streams where they are predicted to run.
"use strict";

const KINDS = {
  convolution: "convolutions",
  matmul: "matrix products",
  attention: "attention",
  "element-wise": "element by element",
  pooling: "pooling",
  rows: "rows: reductions, normalisation",
  copy: "copies",
  opaque: "not understood"
};
const colourName = (kernel) => kernel.on_host_because ? "--host" : `--${kernel.kind.replace("-", "_")}`;

function fillTimeline() {
  if (!details) {
    byId("time-note").textContent = "The kernels are not known, because the model cannot be imported.";
    return;
  }
  // Without a rewrite, both models run the same kernels.
  const after = ["After: the result", details.after];
  const sides = isChanged ? [[`Before: ${start}`, details.before], after] : [["The result", details.after]];
  const end =
      Math.max(1e-9, ...sides.map(([, side]) => side.kernels.reduce((most, one) => Math.max(most, one.end), 0)));
  const hasLanes = sides.every(([, side]) => side.timeline);
  byId("time-note").textContent = "One box is one kernel, as wide as its predicted time" +
      (isChanged ? "; both pictures have the same scale. " : ". ") +
      (hasLanes              ? "Rows are streams, whose kernels run concurrently. " :
           report.in_runtime ? "ONNX Runtime runs one after the other. " :
                               "Sizes are not known, so the kernels are drawn one after the other. ") +
      `${report.in_runtime ? "What" : "Steps on the host are red; what"} was not measured but estimated is paler. ` +
      "Click a box for more.";
  for (const [name, side] of sides) drawKernels(name, side, end);
  const totals = new Map();
  sides.forEach(([, side], i) => side.kernels.forEach((kernel) => {
    const key = kernel.on_host_because ? "host" : kernel.kind;
    const row =
        totals.get(key) || totals.set(key, {colour: colourName(kernel), seconds: [0, 0], count: [0, 0]}).get(key);
    row.seconds[i] += kernel.seconds;
    ++row.count[i];
  }));
  const rows = [...totals]
                   .sort((a, b) => b[1].seconds[0] - a[1].seconds[0])
                   .map(([key, row]) => ({
                          cells: [
                            el("span", {}, el("span", {class: "swatch", style: `background:var(${row.colour})`}),
                               key === "host" ? "on the host" : KINDS[key] || key),
                            ...sides.map((_, i) => whole(row.count[i])), ...sides.map((_, i) => time(row.seconds[i]))
                          ]
                        }));
  const heads = isChanged ? [`kernels: ${start}`, "result", `prices: ${start}`, "result"] : ["kernels", "price"];
  byId("kinds").append(table(["kind of kernel", ...heads], rows, [1, 2, 3, 4]));
  const sums = sides.map((_, i) => [...totals.values()].reduce((sum, row) => sum + row.seconds[i], 0));
  const models = isChanged ? [report.before, report.after] : [report.after];
  if (hasTimes && models.some((model, i) => Math.abs(model.predicted.seconds / sums[i] - 1) > 0.005))
    byId("kinds").append(
        el("p", {class: "note"},
           `Prices add up to ${
               isChanged ? `${time(sums[0])} ${start} and ${time(sums[1])} in the result` : time(sums[0])}. ` +
               "Kernels that are repeated in a run take less than their prices."));
}

function drawKernels(name, side, end) {
  const lanes = 1 + side.kernels.reduce((most, one) => Math.max(most, one.lane), 0),
        height = lanes > 1 ? Math.max(9, Math.min(20, 200 / lanes)) : 36;
  const last = side.kernels.reduce((most, one) => Math.max(most, one.end), 0);
  const canvas = el("canvas", {"aria-label": `Kernels ${name.toLowerCase()}`, role: "img"});
  byId("timeline")
      .append(
          el("div", {class: "lane-label"}, el("span", {}, name),
             el("span", {},
                `${plural(side.kernels.length, "kernel")}, ${time(last)}${lanes > 1 ? `, ${lanes} streams` : ""}`)),
          canvas);
  let chosen = null;
  const draw = () => {
    const style = getComputedStyle(document.documentElement), ratio = devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.style.height = `${lanes * (height + 2) + 2}px`;
    canvas.width = width * ratio;
    canvas.height = (lanes * (height + 2) + 2) * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const scale = width / end;
    for (const kernel of side.kernels) {
      const x = kernel.begin * scale, wide = Math.max(0.6, (kernel.end - kernel.begin) * scale);
      pen.fillStyle = style.getPropertyValue(colourName(kernel));
      pen.globalAlpha = kernel.measured || kernel.on_host_because ? 1 : 0.6;
      pen.fillRect(x, kernel.lane * (height + 2) + 2, wide > 3 ? wide - 0.7 : wide, height);
      if (kernel !== chosen) continue;
      pen.globalAlpha = 1;
      pen.strokeStyle = style.getPropertyValue("--ink");
      pen.lineWidth = 2;
      pen.strokeRect(x, kernel.lane * (height + 2) + 2, Math.max(2, wide), height);
    }
    pen.globalAlpha = 1;
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect(), moment = (event.clientX - box.left) / box.width * end;
    const lane = Math.floor((event.clientY - box.top - 1) / (height + 2)), slack = end / box.width * 2;
    let best = null;
    for (const kernel of side.kernels) {
      const distance = Math.max(kernel.begin - moment, moment - kernel.end, 0);
      if (kernel.lane === lane && distance <= slack && (!best || distance < best[0])) best = [distance, kernel];
    }
    return best && best[1];
  };
  canvas.addEventListener("pointermove", (event) => {
    const kernel = at(event);
    if (kernel)
      showTip(
          `${kernel.text}\n${time(kernel.end - kernel.begin)}${kernel.on_host_because ? ", on the host" : ""}`,
          event.clientX, event.clientY);
    else
      hideTip();
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    chosen = at(event);
    draw();
    if (chosen) showKernel(side, chosen, name);
  });
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

function kernelPrice(kernel) {
  const how = kernel.on_host_because ? `on the host: ${kernel.on_host_because}` :
      kernel.measured ? "measured" :
                        "estimated";
  return `${time(kernel.seconds)} (${how})`;
}

function showKernel(side, kernel, name) {
  const which = side === details.before ? "before" : "after";
  const nodes = kernel.nodes.slice(0, 12).flatMap(
      (index, i) =>
          [i ? ", " : "",
           el("button", {class: "link", onclick: () => openNode(which, index)}, nodeTitle(side.nodes[index]))]);
  byId("kernel-panel")
      .replaceChildren(
          el("h3", {}, `${name}: ${kernel.text.length > 140 ? kernel.kind : kernel.text}`), definitions([
            ["price", kernelPrice(kernel)],
            ["in the run", `${time(kernel.begin)} to ${time(kernel.end)}, stream ${kernel.lane + 1}`],
            ["moves", `${bytes(kernel.bytes)}${kernel.operations ? `, ${large(kernel.operations)} operations` : ""}`],
            ["computes", ...nodes, kernel.nodes.length > 12 ? ` and ${kernel.nodes.length - 12} more` : ""],
            ["operators", kernel.text.length > 140 ? el("code", {}, kernel.text) : ""]
          ]));
}
