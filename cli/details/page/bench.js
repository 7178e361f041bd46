// Fills the page of taso-bench from its figures.
"use strict";

const figures = JSON.parse(byId("data").textContent);
const fileName = (path) => path.split(/[\\/]/).pop();
// The file name, or the path as given if another model has the same name.
const shownName = (one) =>
    figures.models.some((other) => other.model !== one.model && fileName(other.model) === fileName(one.model)) ?
    one.model :
    fileName(one.model);
const micro = (number) => time(number * 1e-6);

function predictionOf(model) {
  if (!model.predicted_microseconds) return "";
  const share = model.predicted_microseconds / model.microseconds.median - 1;
  if (Math.abs(share) < 0.005) return ", as predicted";
  return `; the prediction was ${percent(Math.abs(share))} ${share > 0 ? "too high" : "too low"}`;
}

// The last model against the first, or the best of all if there are more; one sentence.
function verdict() {
  const [first, ...others] = figures.models, name = shownName;
  const median = (model) => model.microseconds.median;
  if (!others.length) return `A run takes ${micro(median(first))} in the median${predictionOf(first)}`;
  const best = others.reduce((a, b) => b.speed_against_first.ratio > a.speed_against_first.ratio ? b : a);
  const against = best.speed_against_first, them = `${micro(median(best))} against ${micro(median(first))}`;
  const expected = best.predicted_microseconds && first.predicted_microseconds ?
      `; ${(first.predicted_microseconds / best.predicted_microseconds).toFixed(3)} was predicted` :
      "";
  const title = others.length > 1 ? `${name(best)}, the fastest of ${others.length} others,` : name(best);
  if (isFaster(against) || isSlower(against))
    return `${title} is ${against.ratio.toFixed(3)} times as fast as ${name(first)} (${range(against)}): ${them}${
        expected}`;
  return `No difference beyond noise between ${name(best)} and ${name(first)}: ${them} (${
      range(against)} times as fast)${expected}`;
}

function fillHeader() {
  const models = figures.models;
  byId("title").textContent = models.map(shownName).join(", ");
  document.title = `${fileName(models[0].model)} – taso-bench`;
  const checks = models.map((model) => model.check).filter((check) => check);
  if (checks.length) {
    const isGood = checks.every((check) => check.agrees);
    byId("headline")
        .append(el("span", {class: `verdict ${isGood ? "good" : "bad"}`}, isGood ? "outputs agree" : "outputs differ"));
  }
  byId("headline").append(el("span", {class: "lead"}, `${verdict()}.`));
  for (const model of models)
    if (model.has_inputs_of_first === false)
      byId("headline")
          .append(
              el("span", {class: "sub"},
                 `${shownName(model)} takes other inputs than ${shownName(models[0])}: they do different work.`));
  byId("machine").textContent = [
    figures.device === "CPU" ? "CPU reference, no GPU: not the times of a fast runtime" : figures.device,
    figures.versions, figures.precision, figures.complete ? "" : "interrupted: fewer runs than asked for"
  ].filter((part) => part).join(", ");
}

function fillTimes() {
  const isOnGpu = figures.device !== "CPU";
  const most = Math.max(
      ...figures.models.flatMap((model) => [model.microseconds["95_percent"], model.predicted_microseconds || 0]));
  const bar = (number, kind) => el("div", {class: `bar ${kind}`, style: `width:${Math.max(2, 220 * number / most)}px`});
  const rows =
      figures.models.map((model) => ({
                           cells: [
                             el("code", {}, shownName(model)), micro(model.microseconds.median),
                             `${micro(model.microseconds["5_percent"])} to ${micro(model.microseconds["95_percent"])}`,
                             model.predicted_microseconds ? micro(model.predicted_microseconds) : "–",
                             el("div", {class: "bars"}, bar(model.microseconds.median, "after"),
                                model.predicted_microseconds ? bar(model.predicted_microseconds, "") : null),
                             isOnGpu ? whole(model.kernels) : "–", isOnGpu ? bytes(model.device_bytes) : "–",
                             model.on_host.length ? el("span", {class: "bad"}, model.on_host.join(", ")) :
                                 isOnGpu          ? "nothing" :
                                                    "everything"
                           ]
                         }));
  byId("times").append(table(
      ["model", "median", "5 to 95 %", "predicted", "", "kernels", "memory", "on the host"], rows, [1, 2, 3, 5, 6]));
}

// Every kernel as a point, both axes logarithmic: on the line, the prediction is right.
function scatter(kernels) {
  const side = 420, low = 66, room = side - low - 14;
  const all = kernels.flatMap((kernel) => [kernel.predicted, kernel.measured]);
  const least = Math.log10(Math.min(...all)) - 0.1, most = Math.log10(Math.max(...all)) + 0.1;
  const at = (number) => room * (Math.log10(number) - least) / (most - least);
  const chart = svg("svg", {
    viewBox: `0 0 ${side} ${side}`,
    class: "chart",
    role: "img",
    "aria-label": "Predicted against measured time",
    style: `max-width:${side}px;width:100%`
  });
  chart.append(svg("line", {x1: low, y1: side - low, x2: low + room, y2: side - low - room}));
  for (let power = Math.ceil(least); power <= most; ++power) {
    const place = at(10 ** power), text = micro(10 ** power);
    chart.append(
        svg("text", {x: low + place, y: side - low + 18, "text-anchor": "middle"}, text),
        svg("text", {x: low - 6, y: side - low - place + 4, "text-anchor": "end"}, text),
        svg("line",
            {x1: low, x2: low + room, y1: side - low - place, y2: side - low - place, "stroke-dasharray": "2 4"}),
        svg("line",
            {y1: side - low, y2: side - low - room, x1: low + place, x2: low + place, "stroke-dasharray": "2 4"}));
  }
  for (const kernel of kernels) {
    const ratio = kernel.measured / kernel.predicted, isFar = ratio > 1.5 || ratio < 1 / 1.5;
    const dot = svg(
        "circle",
        {cx: low + at(kernel.predicted), cy: side - low - at(kernel.measured), r: 4, class: isFar ? "far" : "near"});
    dot.addEventListener(
        "pointermove",
        (event) => showTip(
            `${kernel.operators}\npredicted ${micro(kernel.predicted)}, measured ${micro(kernel.measured)}\n${
                kernel.choice}`,
            event.clientX, event.clientY));
    dot.addEventListener("pointerleave", hideTip);
    chart.append(dot);
  }
  chart.append(
      svg("text", {x: low + room, y: side - 8, "text-anchor": "end"}, "predicted →"),
      svg("text", {x: 4, y: 12}, "↑ measured"));
  return chart;
}

function fillProfiles() {
  const models = figures.models.filter((model) => (model.profile || []).length);
  const about = "Each point is a kernel, measured by itself; on the line, the prediction is right. ";
  byId("kernels-note").textContent = models.length ? `${about}Points that are off by more than half are amber.` :
                                                     "Kernels are measured on a GPU only.";
  for (const model of models) {
    const kernels = model.profile.filter((kernel) => kernel.predicted > 0 && kernel.measured > 0);
    const sum = (key) => model.profile.reduce((total, kernel) => total + kernel[key], 0);
    const worst = [...kernels]
                      .sort((a, b) => Math.abs(b.measured - b.predicted) - Math.abs(a.measured - a.predicted))
                      .slice(0, 15);
    const rows = worst.map((kernel) => ({
                             cells: [
                               kernel.operators, micro(kernel.predicted), micro(kernel.measured),
                               `${(kernel.measured / kernel.predicted).toFixed(2)}`, el("code", {}, kernel.choice)
                             ]
                           }));
    byId("profiles")
        .append(
            el("h3", {style: "margin-top:24px"}, shownName(model)),
            el("p", {class: "note"},
               `${plural(model.profile.length, "kernel")}: ${micro(sum("predicted"))} predicted, ${
                   micro(sum("measured"))} measured, one after the other.`));
    if (!kernels.length) continue;
    byId("profiles")
        .append(
            scatter(kernels), el("h3", {style: "margin-top:18px"}, "Where the prediction is furthest off"),
            table(["kernel", "predicted", "measured", "ratio", "how"], rows, [1, 2, 3]));
  }
}

fillHeader();
fillTimes();
fillProfiles();
