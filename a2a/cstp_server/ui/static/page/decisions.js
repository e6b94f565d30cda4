"use strict";
// The decisions as a table: current, superseded, overdue; sorted and filtered by the server, page by page as it scrolls.
{
  const { html } = cstp;
  const { useEffect, useLayoutEffect, useMemo, useRef, useState } = cstp.hooks;

  const PAGE = 100;
  const ROW = { wide: 56, narrow: 84 }; // px: two lines of a title, and where it is narrow one of facts below them
  const LINES = { least: 2, most: 4, each: 20.25 }; // of a title where it is narrow; px of a line, as in style.css
  const PAUSE = 60; // ms without a scroll, after which a table that flew by counts as standing
  const TALLEST = 8_000_000; // px; browsers draw no element much taller, so a longer list scrolls in larger steps

  const COLUMNS = {
    title: { label: "Decision", least: 17, grows: 4, show: (one) => one.title },
    status: { label: "Status", least: 7.5, sort: "status", show: (one) => html`<${cstp.Pill} kind="status" value=${one.status} />` },
    category: { label: "Category", least: 7, sort: "category", show: (one) => one.category ?? "–" },
    stakes: { label: "Stakes", least: 5, sort: "stakes", show: (one) => one.stakes ?? "–" },
    confidence: { label: "Confidence", least: 7, sort: "confidence", show: (one) => html`<${cstp.Percent} value=${one.confidence} />` },
    outcome: { label: "Outcome", least: 6.5, show: (one) => html`<${cstp.Pill} kind="outcome" value=${one.outcome} />` },
    date: { label: "Date", least: 7, sort: "date", show: (one) => html`<${cstp.Time} at=${one.date} source=${one.dateSource} />` },
    reviewBy: { label: "Review by", least: 8, sort: "reviewBy", show: (one) => html`<${Due} one=${one} />` },
    recordedAt: { label: "Recorded", least: 7, sort: "recordedAt", show: (one) => html`<${cstp.Time} at=${one.recordedAt} />` },
    recordedBy: { label: "By", least: 8, show: (one) => one.recordedBy ?? "–" },
    project: { label: "Project", least: 8, show: (one) => one.project ?? "–" },
    tags: { label: "Tags", least: 8, grows: 1.5, show: (one) => one.tags.join(", ") || "–" },
  };
  const USUAL = ["title", "status", "category", "stakes", "confidence", "outcome", "date", "reviewBy"];
  const NARROW = 760; // px; below it the facts stand under the title
  const SMALL = { most: 480, names: ["title", "status", "date"] }; // a phone has room for these
  const GAP = 0.75; // rem between columns and at the sides, as in style.css

  const VIEWS = [
    { name: "all", label: "All", params: {} },
    { name: "current", label: "Current", params: { current: true } },
    { name: "superseded", label: "Superseded", params: { status: "superseded" } },
    { name: "overdue", label: "Overdue for review", params: { overdue: true } },
  ];

  function Due({ one }) {
    const late = one.reviewBy && !one.outcome && one.status !== "superseded" && new Date(one.reviewBy) < new Date();
    return late ? html`<span class="pill overdue"><${cstp.Time} at=${one.reviewBy} /></span>` : html`<${cstp.Time} at=${one.reviewBy} />`;
  }

  function request(params) {
    const view = VIEWS.find((one) => one.name === params.view) ?? VIEWS[0];
    return {
      ...view.params,
      ...(params.status && view.name !== "superseded" ? { status: params.status } : {}),
      category: params.category || null,
      stakes: params.stakes || null,
      agent: params.agent || null,
      project: params.project || null,
      tags: params.tag ? [].concat(params.tag) : null,
      hasOutcome: { yes: true, no: false }[params.outcome] ?? null,
      dateFrom: params.from || null,
      dateTo: params.to || null,
      sort: params.sort || null,
      order: params.order || null,
    };
  }

  /** Pages of a list as they are needed; a page that has scrolled past before it was asked for is never asked for. */
  function usePages(asked) {
    const { call } = cstp.useVisitor();
    const [pages, setPages] = useState({ of: "", held: new Map(), total: null, error: null });
    const [round, setRound] = useState(0);
    const key = JSON.stringify(cstp.dense(asked));
    const current = pages.of === key ? pages : { of: key, held: new Map(), total: null, error: null };
    const latest = useRef(null); // also for a timer that was set before an answer came
    latest.current = current;
    const waiting = useRef(new Map());
    useEffect(() => () => waiting.current.forEach((stop) => stop.abort()), []);
    const load = (number) => {
      const name = `${key} ${number}`;
      if (waiting.current.has(name) || latest.current.held.has(number)) return;
      const stop = new AbortController();
      waiting.current.set(name, stop);
      call("cstp.listDecisions", { ...asked, limit: PAGE, offset: number * PAGE }, stop.signal)
        .then((found) =>
          setPages((known) => {
            const held = new Map(known.of === key ? known.held : []);
            held.set(number, found.decisions);
            return { of: key, held, total: found.total, error: null };
          }),
        )
        .catch((error) => {
          if (error.name !== "AbortError") setPages((known) => ({ ...(known.of === key ? known : current), of: key, error }));
        })
        .finally(() => waiting.current.delete(name));
    };
    const keep = (wanted) => {
      for (const [name, stop] of waiting.current) {
        if (!wanted.some((number) => name === `${key} ${number}`)) {
          stop.abort();
          waiting.current.delete(name);
        }
      }
    };
    const again = () => {
      setPages({ of: key, held: new Map(), total: null, error: null });
      setRound(round + 1);
    };
    return { ...current, load, keep, again, key, round };
  }

  const has = (one, name) => (name === "tags" ? one.tags.length > 0 : one[name] !== null && one[name] !== undefined);

  /** The columns in which a row that was read has a value; those of the rows before while none of the next is there. */
  function useFilled(pages) {
    const known = useRef({ of: null, names: USUAL, read: 0 });
    const { of, names, read } = known.current;
    if (pages.held.size && (of !== pages.key || read !== pages.held.size)) {
      const rows = [...pages.held.values()].flat();
      const before = of === pages.key ? names : ["title"];
      const filled = USUAL.filter((name) => before.includes(name) || rows.some((one) => has(one, name)));
      known.current = { of: pages.key, names: filled, read: pages.held.size };
    }
    return known.current.names;
  }

  /** The tracks of a grid for these columns, and what they take at least, in rem. */
  const tracks = (columns) => ({
    "--columns": `${columns.map((name) => {
      const { least, grows } = COLUMNS[name];
      return grows ? `minmax(${least}rem, ${grows}fr)` : `${least}rem`;
    }).join(" ")}${columns.includes("title") ? "" : " 1fr"}`, // below a title that is as wide as all of it
    "--least": `${columns.reduce((sum, name) => sum + COLUMNS[name].least + GAP, GAP)}rem`,
  });

  function useWidth(place) {
    const [width, setWidth] = useState(1200);
    useLayoutEffect(() => {
      const watch = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
      watch.observe(place.current);
      return () => watch.disconnect();
    }, []);
    return width;
  }

  /** The lines that the longest title seen of a list needs; more than two where the table is narrow. */
  function useLines(place, list, width) {
    const [lines, setLines] = useState(LINES.least);
    useLayoutEffect(() => setLines(LINES.least), [list, width]);
    useLayoutEffect(() => {
      if (width >= NARROW || lines === LINES.most) return;
      const tallest = Math.max(0, ...Array.from(place.current.querySelectorAll(".row a"), (title) => title.scrollHeight));
      const needed = Math.min(LINES.most, Math.round(tallest / LINES.each));
      if (needed > lines) setLines(needed);
    });
    return lines;
  }

  function Table({ asked, chosen, params, set, heard }) {
    const place = useRef(null);
    const width = useWidth(place);
    const narrow = width < NARROW;
    const pages = usePages(asked);
    const lines = useLines(place, pages.key, width);
    const tall = narrow ? ROW.narrow + (lines - LINES.least) * LINES.each : ROW.wide;
    const [top, setTop] = useState(0);
    const filled = useFilled(pages);
    const shown = chosen ?? filled;
    const total = pages.total ?? 0;
    const height = Math.min(total * tall, TALLEST);
    const scale = height > 0 ? (total * tall) / height : 1;
    const view = place.current?.clientHeight ?? 800;
    const first = Math.max(0, Math.floor((top * scale) / tall) - 8);
    const last = Math.min(pages.total === null ? PAGE : total, first + Math.ceil(view / tall) + 16);
    const askedAt = useRef(-Infinity);
    useLayoutEffect(() => {
      const wanted = [];
      for (let number = Math.floor(first / PAGE); number <= Math.floor(Math.max(first, last - 1) / PAGE); number += 1) wanted.push(number);
      pages.keep(wanted);
      const load = () => {
        askedAt.current = performance.now();
        wanted.forEach(pages.load);
      };
      // a jump is asked for at once; while the table flies by, only where it stops
      const soon = performance.now() - askedAt.current < PAUSE;
      askedAt.current = performance.now();
      if (!soon) {
        load();
        return undefined;
      }
      const timer = setTimeout(load, PAUSE);
      return () => clearTimeout(timer);
    }, [pages.key, pages.round, first, last]);
    const topRow = useRef(0);
    const move = (to) => {
      topRow.current = (to * scale) / tall;
      setTop(to);
    };
    useLayoutEffect(() => {
      place.current.scrollTop = (topRow.current * tall) / scale; // the same row is the first in view when rows grow
    }, [tall]);
    useEffect(() => {
      place.current.scrollTop = 0;
      move(0);
    }, [pages.key]);
    useEffect(() => heard({ total: pages.total, shown }), [pages.total, shown.join()]);
    const columns = width < SMALL.most ? SMALL.names.filter((name) => shown.includes(name)) : shown;
    const facts = narrow ? columns.filter((name) => name !== "title") : columns;
    const row = (index) => pages.held.get(Math.floor(index / PAGE))?.[index % PAGE];
    const indexes = Array.from({ length: Math.max(0, Math.min(last, total) - first) }, (_, at) => first + at);
    return html`${pages.error && html`<${cstp.Failure} error=${pages.error} again=${pages.again} />`}
      <div class=${narrow ? "table narrow" : "table"} ref=${place} role="table" aria-label="Decisions" aria-rowcount=${pages.total === null ? -1 : total + 1}
        tabindex="0" onScroll=${(event) => move(event.currentTarget.scrollTop)}
        hidden=${pages.total === 0} style=${{ "--row": `${tall}px`, "--lines": lines, ...tracks(facts) }}>
        <div role="rowgroup" class="heads">
          <div role="row" class="head" aria-rowindex="1">
            ${columns.map((name) => html`<${Heading} key=${name} name=${name} params=${params} set=${set} />`)}
          </div>
        </div>
        <div role="rowgroup" class="rows" style=${{ height: `${height || 10 * tall}px` }}>
          ${indexes.map((index) => {
            const at = scale === 1 ? index * tall : top + index * tall - top * scale;
            return html`<${Row} key=${index} index=${index} one=${row(index)} columns=${columns} top=${at} />`;
          })}
        </div>
      </div>
      ${pages.total === 0 && !pages.error ? html`<${Nothing} params=${params} />` : null}`;
  }

  /** Why no decision is listed: none has what the filters ask for, or there is none yet. */
  function Nothing({ params }) {
    const { live } = cstp.useVisitor();
    if (CHOICES.some((name) => params[name])) return html`<p class="empty">No decision has all of these. Take a filter away.</p>`;
    if (params.view === "overdue") return html`<p class="empty">No decision is overdue for review.</p>`;
    if (params.view === "superseded") return html`<p class="empty">No decision is superseded.</p>`;
    if (params.view === "current") return html`<p class="empty">No decision is in force.</p>`;
    return html`<p class="empty">${live ? "There is no decision yet that this token may see." : "This site has no decision."}
      ${live && html`<br />Agents record them (<code>cstp record</code>), and <code>cstp ingest FOLDER</code> reads them from files.`}</p>`;
  }

  function Heading({ name, params, set }) {
    const { label, sort } = COLUMNS[name];
    if (!sort) return html`<div role="columnheader" class=${name}><strong>${label}</strong></div>`;
    const active = (params.sort || "date") === sort;
    const order = params.order || "desc";
    const next = active && order === "desc" ? "asc" : "desc";
    return html`<div role="columnheader" aria-sort=${active ? { asc: "ascending", desc: "descending" }[order] : "none"}>
      <button type="button" onClick=${() => set({ sort, order: next })}>
        ${label}${active ? (order === "desc" ? " ↓" : " ↑") : ""}
      </button>
    </div>`;
  }

  function Row({ index, one, columns, top }) {
    const open = (event) => {
      if (event.key === "Enter" && one) cstp.address.go(["decision", one.id]);
    };
    return html`<div role="row" class="row" aria-rowindex=${index + 2} style=${{ top: `${top}px` }} data-row tabindex="-1" onKeyDown=${open}>
      ${columns.map(
        (name) => html`<div role="cell" key=${name} class=${name}>
          ${!one
            ? html`<div class="waiting"></div>`
            : name === "title"
              ? html`<a href=${cstp.address.to(["decision", one.id])} title=${one.title}>${one.title}</a>`
              : COLUMNS[name].show(one)}
        </div>`,
      )}
    </div>`;
  }

  /** What is current, superseded and overdue, each with its number. */
  function Views({ params, set, statistics }) {
    const numbers = statistics && {
      all: statistics.total,
      current: statistics.current,
      superseded: statistics.byStatus.superseded ?? 0,
      overdue: statistics.overdue,
    };
    return html`<div class="bar" role="group" aria-label="Which decisions">
      ${VIEWS.map(
        ({ name, label }) => html`<${cstp.Chip} label=${label} found=${numbers?.[name]} on=${(params.view ?? "all") === name}
          toggle=${() => set({ view: name === "all" ? "" : name })} />`,
      )}
    </div>`;
  }

  const counted = (numbers, any) => [["", any], ...Object.entries(numbers ?? {}).map(([name, found]) => [name, `${name} (${found})`])];

  const CHOICES = ["category", "stakes", "status", "outcome", "agent", "tag", "project", "from", "to"];

  function Filters({ params, set, statistics, children }) {
    const choice = (name, label, numbers) => html`<${cstp.Choice} label=${label} value=${params[name] ?? ""}
      options=${counted(numbers, "any")} change=${(value) => set({ [name]: value })} />`;
    const tags = Object.fromEntries((statistics?.topTags ?? []).map(({ tag, count }) => [tag, count]));
    const chosen = CHOICES.filter((name) => params[name]);
    const narrow = matchMedia("(max-width: 46rem)").matches; // there they would push the table out of sight
    return html`<details class="filters" open=${!narrow || chosen.length > 0}>
      <summary>Filters</summary>
      <div class="bar filters-of-table">
      ${choice("category", "Category", statistics?.byCategory)} ${choice("stakes", "Stakes", statistics?.byStakes)}
      ${params.view === "superseded" ? null : choice("status", "Status", statistics?.byStatus)}
      <${cstp.Choice} label="Outcome" value=${params.outcome ?? ""} options=${[["", "any"], ["yes", "known"], ["no", "not yet"]]}
        change=${(outcome) => set({ outcome })} />
      ${choice("agent", "By", statistics?.byAgent)} ${choice("tag", "Tag", tags)}
      <label class="choice">Project
        <input type="text" size="10" value=${params.project ?? ""} onChange=${(event) => set({ project: event.currentTarget.value })} /></label>
      <label class="choice">From
        <input type="date" value=${params.from ?? ""} onChange=${(event) => set({ from: event.currentTarget.value })} /></label>
      <label class="choice">To
        <input type="date" value=${params.to ?? ""} onChange=${(event) => set({ to: event.currentTarget.value })} /></label>
      ${chosen.length
        ? html`<button type="button" class="small" onClick=${() => set(Object.fromEntries(chosen.map((name) => [name, ""])))}>
            Clear ${cstp.plural(chosen.length, "filter")}
          </button>`
        : null}
      ${children}
      </div>
    </details>`;
  }

  function ColumnPicker({ shown, set }) {
    return html`<details class="picker">
      <summary class="small">Columns</summary>
      <div class="card">
        ${Object.entries(COLUMNS).map(([name, { label }]) =>
          name === "title"
            ? null
            : html`<label class="check"><input type="checkbox" checked=${shown.includes(name)}
                onChange=${() => {
                  const columns = shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name];
                  set({ columns: Object.keys(COLUMNS).filter((one) => columns.includes(one)).join(",") });
                }} />${label}</label>`,
        )}
      </div>
    </details>`;
  }

  function Decisions({ params }) {
    const set = (changed) => cstp.address.go("decisions", { ...params, ...changed }, { replace: true });
    const statistics = cstp.useCall("cstp.getStats", { project: params.project || null, dateFrom: params.from || null, dateTo: params.to || null }, { keep: true });
    const [{ total, shown }, setHeard] = useState({ total: null, shown: USUAL });
    const chosen = useMemo(() => {
      const named = (params.columns ?? "").split(",").filter((name) => name in COLUMNS);
      return named.length ? ["title", ...named.filter((name) => name !== "title")] : null; // those with a value
    }, [params.columns]);
    const asked = useMemo(() => request(params), [params]);
    return html`<${cstp.PageHead} title="Decisions">
        <span class="muted" role="status">${total === null ? "" : cstp.plural(total, "decision")}</span>
      </${cstp.PageHead}>
      <${Views} params=${params} set=${set} statistics=${statistics.result} />
      <${Filters} params=${params} set=${set} statistics=${statistics.result}>
        <${ColumnPicker} shown=${shown} set=${set} />
      </${Filters}>
      ${statistics.error && html`<${cstp.Failure} error=${statistics.error} again=${statistics.again} />`}
      <${Table} asked=${asked} chosen=${chosen} params=${params} set=${set} heard=${setHeard} />`;
  }

  cstp.pages.decisions = Decisions;
}
