"use strict";
// What was read: patterns, warnings and decisions that were extracted from it, by topic and source, and its passages.
{
  const { html } = cstp;
  const { useEffect, useMemo, useState } = cstp.hooks;

  const LISTS = {
    patterns: { method: "cstp.getPatterns", type: "pattern", label: "Patterns" },
    warnings: { method: "cstp.getWarnings", type: "warning", label: "Warnings" },
    decisions: { method: "cstp.getDecisions", type: "decision", label: "Decisions" },
  };
  const OVERVIEW = { limit: 200 }; // of each list, for the counts of topics and sources
  const PAGE = 50;
  const FOUND = 30;
  const FIRST = 6; // of each list, where all three are shown
  const TOPICS = 30; // that are shown before one asks for all
  const FIND = [["", "everything"], ["chunk", "passages"], ["extraction", "extracted"]];

  /** How many rows name each value, the most frequent first. */
  function counted(rows, names) {
    const counts = new Map();
    for (const row of rows) {
      for (const [key, label] of names(row)) {
        counts.set(key, { key, label, found: (counts.get(key)?.found ?? 0) + 1 });
      }
    }
    return [...counts.values()].sort((a, b) => b.found - a.found || a.label.localeCompare(b.label));
  }

  const topicsOf = (row) => row.topics.map((topic) => [topic.toLowerCase(), topic.toLowerCase()]);
  const sourcesOf = (row) => (row.sourceId ? [[row.sourceId, row.sourceTitle ?? row.sourceId]] : []);

  /** All three lists from their beginning, and what they name. */
  function useOverview() {
    const calls = Object.fromEntries(
      Object.entries(LISTS).map(([name, { method }]) => [name, cstp.useCall(method, OVERVIEW)]),
    );
    const all = Object.values(calls);
    const rows = all.flatMap((call) => call.result?.results ?? []);
    return {
      calls,
      known: all.every((call) => call.result),
      whole: all.every((call) => call.result && call.result.metadata.totalCount <= OVERVIEW.limit),
      topics: counted(rows, topicsOf),
      sources: counted(rows, sourcesOf),
    };
  }

  /** The pages of a list that were asked for so far. */
  function usePages(method, topic) {
    const { call } = cstp.useVisitor();
    const [pages, setPages] = useState({ rows: null, total: 0, error: null, wanted: PAGE });
    const { wanted } = pages;
    useEffect(() => {
      const stop = new AbortController();
      const held = pages.of === `${method} ${topic}` ? (pages.rows ?? []) : [];
      const begin = held.length ? wanted : PAGE;
      call(method, { topic, limit: PAGE, offset: held.length }, stop.signal).then(
        ({ results, metadata }) =>
          setPages({
            rows: [...held, ...results], total: metadata.totalCount, error: null, wanted: begin, of: `${method} ${topic}`,
          }),
        (error) => error.name !== "AbortError" && setPages((known) => ({ ...known, error })),
      );
      return () => stop.abort();
    }, [method, topic, wanted, call]);
    return { ...pages, more: () => setPages((known) => ({ ...known, wanted: known.rows.length + PAGE })) };
  }

  function Extraction({ row, type, query, level = "h2" }) {
    const heading = cstp.headingOf(type, row);
    return html`<${cstp.Row} label=${`${type}: ${heading}`}>
      <${level}>
        <a href=${cstp.address.to(["extraction", row.id], { type, q: heading })}>
          <${cstp.Marked} text=${heading} query=${query} />
        </a>
      </${level}>
      <p class="meta">
        <${cstp.Pill} kind="kind" value=${type} />
        ${row.topics.length > 0 && html`<span><${cstp.Topics} topics=${row.topics} /></span>`}
        <${cstp.SourceLink} id=${row.sourceId} title=${row.sourceTitle} />
        ${row.chunkId && html`<${cstp.RecordLink} type="chunk" id=${row.chunkId}>passage</${cstp.RecordLink}>`}
      </p>
      <${cstp.Extracted} type=${type} content=${row} query=${query} brief />
    </${cstp.Row}>`;
  }

  function Rows({ rows, type, level }) {
    return html`<ol class="results tiles" aria-label=${`${type}s`}>
      ${rows.map((row) => html`<${Extraction} key=${row.id} row=${row} type=${type} level=${level} />`)}
    </ol>`;
  }

  function List({ what, topic }) {
    const { method, type, label } = LISTS[what];
    const pages = usePages(method, topic);
    if (pages.rows === null || pages.of !== `${method} ${topic}`) {
      return pages.error ? html`<${cstp.Failure} error=${pages.error} />` : html`<${cstp.Placeholder} lines=${14} />`;
    }
    if (!pages.rows.length) {
      return html`<p class="empty">No ${type} ${topic ? `has the topic “${topic}”` : "was extracted from a source"}.
        ${!topic && html` <code>cstp ingest</code> and <code>cstp.storeKnowledge</code> bring them.`}</p>`;
    }
    return html`<${Rows} rows=${pages.rows} type=${type} />
      ${pages.error && html`<${cstp.Failure} error=${pages.error} />`}
      <div class="bar more">
        ${pages.rows.length < pages.total && html`<button type="button" onClick=${pages.more}>More</button>`}
        <span class="hint" role="status">${cstp.count(pages.rows.length)} of ${cstp.count(pages.total)} ${label.toLowerCase()}, the newest first</span>
      </div>
      <${cstp.CallShown} method=${method} params=${{ topic, limit: PAGE }} />`;
  }

  /** Whether nothing was extracted, though there may be sources and passages, which no method lists. */
  const isBare = (overview) => overview.known && Object.values(overview.calls).every((call) => !call.result.metadata.totalCount);

  function NothingExtracted() {
    const { live } = cstp.useVisitor();
    return html`<p class="empty">No pattern, warning or decision was extracted from sources yet.
      ${live && html`<br />Agents store them with <code>cstp.storeKnowledge</code>. Notes and documents that were ingested are
        passages: the search above finds them.`}</p>`;
  }

  /** The beginning of all three lists, or the whole of what was read of them. */
  function Overview({ overview, topic, set, whole = false }) {
    if (!overview.known) {
      const failed = Object.values(overview.calls).find((call) => call.error);
      return failed ? html`<${cstp.Failure} error=${failed.error} again=${failed.again} />` : html`<${cstp.Placeholder} lines=${14} />`;
    }
    if (!topic && !whole && isBare(overview)) return html`<${NothingExtracted} />`;
    return html`${Object.entries(LISTS).map(([name, { type, label }]) => {
      const { results, metadata } = overview.calls[name].result;
      const rows = topic ? results.filter((row) => topicsOf(row).some(([key]) => key === topic.toLowerCase())) : results;
      const more = !whole && (rows.length > FIRST || metadata.totalCount > OVERVIEW.limit);
      return html`<section key=${name} class="list">
        <h2>${label}</h2>
        ${rows.length
          ? html`<${Rows} rows=${whole ? rows : rows.slice(0, FIRST)} type=${type} level="h3" />`
          : html`<p class="empty">No ${type} ${topic ? `has the topic “${topic}”` : "was extracted from a source"}.</p>`}
        ${more && html`<p><button type="button" onClick=${() => set({ what: name })}>
          All ${topic ? "" : `${cstp.count(metadata.totalCount)} `}${label.toLowerCase()}
        </button></p>`}
      </section>`;
    })}`;
  }

  const sameText = (one, other) => one?.toLowerCase() === other.toLowerCase();

  /** The lists with the rows of one source alone; they have no filter for it, so it is looked for in what was read. */
  function ofSource(overview, source) {
    const calls = Object.fromEntries(
      Object.entries(overview.calls).map(([name, call]) => {
        const rows = call.result?.results.filter((row) => row.sourceId === source || sameText(row.sourceTitle, source)) ?? [];
        return [name, call.result ? { ...call, result: { results: rows, metadata: { totalCount: rows.length } } } : call];
      }),
    );
    return { ...overview, calls };
  }

  const place = (found) => Number.parseInt(found.chunkInfo ?? "0", 10);

  /** The passages of a source: a search by its title that only its passages can answer, in their order. */
  function PassagesOf({ source, title }) {
    const asked = { query: title, filters: { source, type: "chunk" }, limit: FOUND };
    const found = cstp.useCall("cstp.searchKnowledge", asked, { keep: true });
    return html`<section>
      <h2>Its passages</h2>
      <${cstp.Answer} of=${found} isEmpty=${({ results }) => !results.length} empty="No passage of it is stored."
        show=${({ results }) => html`<ol class="results" aria-label="Passages of the source">
            ${[...results].sort((a, b) => place(a) - place(b)).map((one) => html`<${Found} key=${one.id} one=${one} />`)}
          </ol>
          ${results.length === FOUND && html`<p class="hint">The ${FOUND} that are nearest to its title; search for others.</p>`}`} />
    </section>`;
  }

  /** A passage or an extraction that a search found. */
  function Found({ one, query }) {
    if (one.type === "extraction") {
      const row = { ...one.content, ...one, sourceId: one.source?.sourceId, sourceTitle: one.source?.title };
      return html`<${Extraction} row=${row} type=${one.extractionType} query=${query} />`;
    }
    const title = cstp.passageTitle({ ...one, source: one.source?.title });
    return html`<${cstp.Row} label=${`passage: ${title}`}>
      <h2>
        <${cstp.RecordLink} type="chunk" id=${one.id} params=${{ q: query }}>
          <${cstp.Marked} text=${title} query=${query} />
        </${cstp.RecordLink}>
      </h2>
      <p class="meta">
        <${cstp.Pill} kind="kind" value="passage" />
        ${one.chunkInfo && html`<span>${one.chunkInfo.replace("/", " of ")}</span>`}
        ${one.topics.length > 0 && html`<span><${cstp.Topics} topics=${one.topics} /></span>`}
        <${cstp.SourceLink} id=${one.source?.sourceId} title=${one.source?.title} />
      </p>
      <${cstp.Snippet} text=${cstp.excerpt(one.content, query)} query=${query} />
    </${cstp.Row}>`;
  }

  function Search({ query, params }) {
    const { topic, source, type } = params;
    const asked = useMemo(() => {
      const filters = cstp.dense({ topic, source, type });
      return { query, limit: FOUND, filters: Object.keys(filters).length ? filters : null };
    }, [query, topic, source, type]);
    const found = cstp.useCall("cstp.searchKnowledge", asked, { delay: 120, keep: true });
    return html`<${cstp.Answer} of=${found} lines=${14} isEmpty=${({ results }) => !results.length}
      empty=${asked.filters ? "Nothing was found with these filters." : `No source says anything of “${query}”.`}
      show=${({ results, metadata, queryTimeMs }) => html`
        <p class="hint" role="status">
          ${cstp.found(results.length, "result", FOUND)} in ${queryTimeMs} ms
          from ${cstp.plural(metadata.sourcesCited.length, "source")}
        </p>
        <ol class="results" aria-label="What was found">
          ${results.map((one) => html`<${Found} key=${`${one.type} ${one.id}`} one=${one} query=${query} />`)}
        </ol>
        <${cstp.CallShown} method="cstp.searchKnowledge" params=${asked} />`} />`;
  }

  function Side({ overview, params, set }) {
    const [all, setAll] = useState(false);
    const { topics, sources } = overview;
    const topic = (params.topic ?? "").toLowerCase();
    const shown = all ? topics : topics.slice(0, TOPICS);
    const chips = shown.some((one) => one.key === topic) || !topic ? shown : [{ key: topic, label: topic }, ...shown];
    return html`<aside aria-label="Topics and sources">
      <h2>Topics</h2>
      ${!overview.known && html`<${cstp.Placeholder} lines=${5} />`}
      ${overview.known && html`<div class="bar" role="group" aria-label="Topics">
        ${chips.map(({ key, label, found }) => html`<${cstp.Chip} key=${key} label=${label} found=${found} on=${key === topic}
          toggle=${() => set({ topic: key === topic ? "" : key })} />`)}
        ${topics.length > TOPICS && html`<button type="button" class="small" onClick=${() => setAll(!all)}>
          ${all ? "Fewer" : `All ${topics.length}`}
        </button>`}
        ${!chips.length && html`<span class="muted">None yet.</span>`}
      </div>
      <h2>Sources cited</h2>
      <ul class="plain">
        ${sources.map(({ key, label, found }) => html`<li key=${key}>
          <a href=${cstp.address.to("knowledge", { source: key })} aria-current=${key === params.source ? "true" : null}>${label}</a>
          <span class="muted"> ${cstp.count(found)}</span>
        </li>`)}
      </ul>
      ${!sources.length && html`<p class="muted">None yet.</p>`}
      ${!overview.whole && html`<p class="hint">Counted over the ${OVERVIEW.limit} newest of each list.</p>`}`}
    </aside>`;
  }

  function Body({ params, what, query, overview, set }) {
    const { topic = "", source } = params;
    const title = overview.sources.find((one) => one.key === source)?.label ?? source;
    const total = (name) => overview.calls[name].result?.metadata.totalCount;
    if (query) return html`<${Search} query=${query} params=${params} />`;
    if (source) {
      return html`<p class="bar"><span>From <b>${title}</b></span>
          <button type="button" class="small" onClick=${() => set({ source: "" })}>All sources</button></p>
        <${Overview} overview=${ofSource(overview, source)} topic=${topic} set=${set} whole />
        ${overview.known && !overview.whole && html`<p class="hint">Looked for among the ${OVERVIEW.limit} newest of each list.</p>`}
        ${overview.known && html`<${PassagesOf} key=${source} source=${source} title=${title} />`}`;
    }
    return html`<div class="bar lists" role="group" aria-label="What was extracted">
        <${cstp.Chip} label="All" on=${!what} toggle=${() => set({ what: "" })} />
        ${Object.entries(LISTS).map(([name, { label }]) => html`<${cstp.Chip} key=${name} label=${label} on=${name === what}
          found=${topic ? null : total(name)} toggle=${() => set({ what: name === what ? "" : name })} />`)}
      </div>
      ${what
        ? html`<${List} what=${what} topic=${topic} />`
        : html`<${Overview} overview=${overview} topic=${topic} set=${set} />`}`;
  }

  function Knowledge({ params }) {
    const overview = useOverview();
    const query = (params.q ?? "").trim();
    const what = LISTS[params.what] ? params.what : "";
    const set = (changed) => cstp.address.go("knowledge", { ...params, ...changed }, { replace: true });
    return html`<${cstp.PageHead} title="Knowledge" />
      <div class="bar">
        <label class="choice wide">
          Search what was read
          <input type="search" autocomplete="off" spellcheck=${false} value=${params.q ?? ""}
            onInput=${(event) => set({ q: event.currentTarget.value })} />
        </label>
        <${cstp.Choice} label="In" value=${params.type ?? ""} options=${FIND} change=${(type) => set({ type })} />
      </div>
      <div class="columns knowledge">
        ${!isBare(overview) && html`<${Side} overview=${overview} params=${params} set=${set} />`}
        <div><${Body} params=${params} what=${what} query=${query} overview=${overview} set=${set} /></div>
      </div>`;
  }

  cstp.pages.knowledge = Knowledge;
}
