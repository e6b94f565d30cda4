"use strict";
// The bars of the timeline: on a canvas with a brush, and the same numbers as a table.
{
  const { html } = cstp;
  const { useEffect, useLayoutEffect, useRef } = cstp.hooks;

  const HEIGHT = 280; // reserved in style.css, too
  const LABELS = { decisions: "Decisions", events: "Events", rewarded: "Episodes, reward 0 or more", failed: "Episodes, reward below 0" };
  const UPWARD = ["decisions", "events", "rewarded"];
  const COLOUR = { decisions: "series-1", events: "series-3", rewarded: "good", failed: "bad" };

  /** Stripes, so that kinds next to each other differ by more than their colour. */
  function stripes(context, colour, ground, falling) {
    const size = Math.round(6 * devicePixelRatio);
    const tile = document.createElement("canvas");
    tile.width = tile.height = size;
    const one = tile.getContext("2d");
    one.fillStyle = ground;
    one.fillRect(0, 0, size, size);
    one.strokeStyle = colour;
    one.lineWidth = size * 0.45;
    for (const shift of [-size, 0, size]) {
      one.beginPath();
      one.moveTo(shift, falling ? 0 : size);
      one.lineTo(shift + size, falling ? size : 0);
      one.stroke();
    }
    return context.createPattern(tile, "repeat");
  }

  function fills(context, look) {
    return {
      decisions: look["series-1"],
      events: stripes(context, look["series-3"], look.surface, false),
      rewarded: look.good,
      failed: stripes(context, look.bad, look.surface, true),
    };
  }

  /** Paints the bars: failed episodes go down from the line, all else is stacked on it. */
  function paint(plot, bars, look) {
    const { ctx: context } = plot;
    const fill = fills(context, look);
    const step = plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true);
    const width = Math.max(1, Math.min(step * 0.78, 44 * devicePixelRatio));
    const zero = plot.valToPos(0, "y", true);
    const box = (kind, left, from, to) => {
      const [top, bottom] = from < to ? [from, to] : [to, from];
      const height = Math.max(bottom - top - (bottom - top > 4 ? 1 : 0), 1);
      context.fillStyle = fill[kind];
      context.fillRect(left, top, width, height);
      context.strokeStyle = look[COLOUR[kind]];
      context.lineWidth = 1;
      if (width > 4 && height > 3) context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    };
    bars.forEach((bar, index) => {
      const left = Math.round(plot.valToPos(index, "x", true) - width / 2);
      let sum = 0;
      for (const kind of UPWARD) {
        if (!bar[kind]) continue;
        box(kind, left, plot.valToPos(sum, "y", true), plot.valToPos(sum + bar[kind], "y", true));
        sum += bar[kind];
      }
      if (bar.failed) box("failed", left, zero, plot.valToPos(-bar.failed, "y", true));
    });
    context.fillStyle = look.control;
    context.fillRect(plot.bbox.left, Math.round(zero), plot.bbox.width, 1);
  }

  const whole = (number) => (Number.isInteger(number) ? cstp.count(Math.abs(number)) : "");

  /** Which periods get a label: as many as there is room for; with the year where it changes. */
  function axes(shown, look) {
    const style = { stroke: look.muted, font: "12px system-ui, sans-serif", ticks: { show: false } };
    return [
      {
        ...style,
        grid: { show: false },
        splits: (plot) => {
          const every = Math.max(1, Math.ceil(shown.length / Math.max(2, Math.floor(plot.bbox.width / devicePixelRatio / 64))));
          return shown.map((_, index) => index).filter((index) => (shown.length - 1 - index) % every === 0);
        },
        values: (plot, splits) => {
          let year = null;
          return splits.map((index) => {
            const changed = shown[index].from.slice(0, 4) !== year;
            year = shown[index].from.slice(0, 4);
            return changed ? `${shown[index].tick}\n${year}` : shown[index].tick;
          });
        },
        size: 44,
      },
      {
        ...style,
        grid: { stroke: look.line, width: 1 },
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000],
        values: (plot, splits) => splits.map(whole),
        size: 46,
      },
    ];
  }

  function highest(bars) {
    const up = Math.max(1, ...bars.map((bar) => UPWARD.reduce((sum, kind) => sum + bar[kind], 0)));
    const down = Math.max(0, ...bars.map((bar) => bar.failed));
    return [down ? -down * 1.08 : 0, up * 1.08];
  }

  function sentence(period, bar) {
    const { decisions, events, rewarded, failed } = bar;
    return `${period.name}: ${cstp.plural(decisions, "decision")}, ${cstp.plural(events, "event")}, `
      + `${cstp.plural(rewarded + failed, "episode")}${failed ? `, ${cstp.count(failed)} of them with a reward below 0` : ""}`;
  }

  /** A finger brushes like a mouse, which uPlot follows by itself; up and down it scrolls the page. */
  function followFinger(plot, chosen) {
    let start = null;
    const place = (event) => event.clientX - plot.over.getBoundingClientRect().left;
    plot.over.addEventListener("pointerdown", (event) => {
      start = event.pointerType === "mouse" ? null : place(event);
    });
    plot.over.addEventListener("pointermove", (event) => {
      if (start === null || Math.abs(place(event) - start) < 8) return;
      const [left, right] = [start, place(event)].sort((a, b) => a - b);
      plot.setSelect({ left, width: right - left, top: 0, height: plot.over.clientHeight }, false);
    });
    plot.over.addEventListener("pointerup", (event) => {
      if (start !== null && Math.abs(place(event) - start) >= 8) chosen(start, place(event));
      start = null;
    });
    plot.over.addEventListener("pointercancel", () => {
      start = null;
    });
  }

  /** Makes the plot. `choose(first, last)` gets the indices of the periods that were brushed or clicked. */
  function plotted(place, { shown, bars, look, choose, say }) {
    const inside = (value) => Math.min(shown.length - 1, Math.max(0, Math.round(value)));
    let brushed = false;
    const chosen = (one, other) => {
      brushed = true;
      const [first, last] = [one, other].map((left) => inside(plot.posToVal(left, "x"))).sort((a, b) => a - b);
      choose(first, last);
    };
    const options = {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      padding: [8, 22, 0, 0],
      scales: {
        x: { time: false, range: [-0.6, shown.length - 0.4] },
        y: { range: highest(bars) },
      },
      series: [{}, { paths: () => null, points: { show: false } }],
      axes: axes(shown, look),
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 6 } },
      hooks: {
        draw: [(plot) => paint(plot, bars, look)],
        setCursor: [({ cursor: { idx } }) => say(idx === null || idx === undefined ? null : sentence(shown[idx], bars[idx]))],
        setSelect: [(plot) => plot.select.width > 0 && chosen(plot.select.left, plot.select.left + plot.select.width)],
      },
    };
    const plot = new uPlot(options, [shown.map((_, index) => index), bars.map(() => 0)], place);
    plot.over.addEventListener("mousedown", () => {
      brushed = false;
    });
    plot.over.addEventListener("click", ({ clientX }) => {
      if (brushed) return;
      const left = clientX - plot.over.getBoundingClientRect().left;
      chosen(left, left);
    });
    followFinger(plot, chosen);
    return plot;
  }

  /** Marks the periods that are chosen. */
  function mark(plot, range) {
    const height = plot.over.clientHeight;
    if (range === null) {
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      return;
    }
    const left = plot.valToPos(range[0] - 0.5, "x");
    plot.setSelect({ left, width: plot.valToPos(range[1] + 0.5, "x") - left, top: 0, height }, false);
  }

  const HINT = "Drag over the bars or click one to choose a time. Episodes with a reward below 0 go down from the line.";

  /** The bars. `range` are the indices of the first and last period that is chosen, or null. */
  function Chart({ shown, bars, range, choose, label }) {
    const library = cstp.useLibrary("uplot.js", "uplot.css");
    const look = cstp.useColours();
    const [place, words, plot, chosen] = [useRef(null), useRef(null), useRef(null), useRef(choose)];
    chosen.current = choose;
    const wanted = useRef(range);
    wanted.current = range;
    useLayoutEffect(() => {
      if (!library.ready || bars === null) return undefined;
      const say = (text) => {
        words.current.textContent = text ?? HINT;
      };
      plot.current = plotted(place.current, { shown, bars, look, say, choose: (...given) => chosen.current(...given) });
      mark(plot.current, wanted.current);
      const watch = new ResizeObserver(() => {
        if (place.current.clientWidth === plot.current.width) return;
        plot.current.setSize({ width: place.current.clientWidth, height: HEIGHT });
        mark(plot.current, wanted.current);
      });
      watch.observe(place.current);
      return () => {
        watch.disconnect();
        plot.current.destroy();
        plot.current = null;
      };
    }, [library.ready, shown, bars, look]);
    useEffect(() => {
      if (plot.current) mark(plot.current, range);
    }, [range?.[0], range?.[1]]);
    if (library.error) return html`<${cstp.Failure} error=${library.error} />`;
    return html`<div class="chart" role="img" aria-label=${label}>
        <div class="chart-place" ref=${place}></div>
      </div>
      <p class="hint chart-words" aria-hidden="true" ref=${words}>${HINT}</p>`;
  }

  /** The numbers of the bars as a table. */
  function Numbers({ shown, bars, unit }) {
    return html`<details class="numbers">
      <summary>The numbers of the bars as a table</summary>
      <div class="scrolled" tabindex="0" role="region" aria-label="The numbers of the bars">
        <table>
          <thead>
            <tr>
              <th scope="col">${unit[0].toUpperCase() + unit.slice(1)}</th>
              ${cstp.timeline.KINDS.map((kind) => html`<th scope="col">${LABELS[kind]}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${shown.map(
              (period, index) => html`<tr>
                <th scope="row">${period.name}</th>
                ${cstp.timeline.KINDS.map((kind) => html`<td>${cstp.count(bars[index][kind])}</td>`)}
              </tr>`,
            ).reverse()}
          </tbody>
        </table>
      </div>
    </details>`;
  }

  Object.assign(cstp.timeline, { Chart, Numbers });
}
