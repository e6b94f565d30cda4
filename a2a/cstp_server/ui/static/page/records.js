"use strict";
// The pages of single episodes and extractions.
{
  const { html } = cstp;
  const { useEffect, useState } = cstp.hooks;

  const short = (text, most = 120) => (text.length > most ? `${text.slice(0, most).replace(/\s+\S*$/, "")} …` : text);

  function Reward({ value }) {
    const text = `${value > 0 ? "+" : ""}${value}`;
    return html`<span class="percent reward-meter">
      <meter min="-1" max="1" low="-0.2" high="0.2" optimum="1" value=${value} aria-label=${`reward ${text}`}></meter>${text}
    </span>`;
  }

  function Similar({ episode }) {
    const query = episode.query.slice(0, 1000);
    const found = cstp.useCall("cstp.findEpisodes", { query, limit: 6 });
    const others = (found.result?.episodes ?? []).filter((one) => one.id !== episode.id);
    return html`<section>
      <h2>Episodes like it</h2>
      <${cstp.Answer} of=${found} isEmpty=${() => !others.length} empty="There is no other."
        show=${() => html`<ol class="results tiles" aria-label="Episodes like it">
          ${others.map((one) => html`<${cstp.Row} key=${one.id} label=${`episode ${one.id}`}>
            <h3><${cstp.RecordLink} type="episode" id=${one.id}>${short(one.query)}</${cstp.RecordLink}></h3>
            <p class="meta"><span>reward <${Reward} value=${one.reward} /></span><${cstp.Time} at=${one.createdAt} /></p>
            ${one.reflection && html`<${cstp.Snippet} text=${one.reflection} short />`}
          </${cstp.Row}>`)}
        </ol>`} />
    </section>`;
  }

  function EpisodeShown({ episode, query }) {
    const { provenance } = episode;
    return html`<div class="columns">
      <div>
        <div class="card whole-text">
          ${episode.query.length > 120 && html`<h2>What was tried</h2>
            <p class="text"><${cstp.Marked} text=${episode.query} query=${query} /></p>`}
          <h2>What was learned</h2>
          <p class="text">${episode.reflection
            ? html`<${cstp.Marked} text=${episode.reflection} query=${query} />`
            : html`<span class="muted">Its record does not say.</span>`}</p>
        </div>
        <${cstp.CallShown} method="cstp.getEpisode" params=${{ id: episode.id }} />
      </div>
      <aside class="cards">
        <section class="card">
          <h2>How it went</h2>
          <${cstp.Facts} rows=${[
            ["Reward", html`<${Reward} value=${episode.reward} />`],
            ["When", html`<${cstp.Time} at=${episode.createdAt} hours />`],
            ["Category", episode.category],
            ["Tags", episode.tags.join(", ")],
            ["Project", episode.project],
            ["Sensitivity", episode.sensitivity],
          ]} />
        </section>
        <section class="card">
          <h2>Where it is from</h2>
          <${cstp.Facts} rows=${[
            ["Written by", provenance.recordedBy ?? "the operator"],
            ["Recorded", html`<${cstp.Time} at=${provenance.recordedAt} hours />`],
            ["By way of", provenance.via],
            ["File", provenance.path && html`<code>${provenance.path}</code>`],
            ["Revision", provenance.revision],
          ]} />
        </section>
      </aside>
    </div>
    <${Similar} episode=${episode} />`;
  }

  function Episode({ path, params }) {
    const id = Number(path[0]);
    const valid = Number.isSafeInteger(id) && id > 0;
    const found = cstp.useCall("cstp.getEpisode", valid ? { id } : null);
    const title = found.result ? short(found.result.query) : `Episode ${path[0] ?? ""}`;
    return html`<${cstp.PageHead} title=${title}>
        <span class="muted">${found.result ? `episode ${id}` : ""}</span>
      </${cstp.PageHead}>
      ${!valid && html`<p class="empty">The id of an episode is a whole number, up to 9,007,199,254,740,991 on this page.</p>`}
      <${cstp.Answer} of=${found} lines=${10} show=${(episode) => html`<${EpisodeShown} episode=${episode} query=${params.q} />`} />`;
  }

  const LISTS = [["decision", "cstp.getDecisions"], ["pattern", "cstp.getPatterns"], ["warning", "cstp.getWarnings"]];
  const UNLISTED = ["methodology", "checklist", "persona", "workflow"];
  const PAGE = 500; // the most that a list gives
  const MOST_PAGES = 8;
  const SEARCHED = 100; // the most that a search gives

  /** No method reads an extraction by its id: it is looked for in a search, then in the lists. Null if it is in none. */
  async function findExtraction(call, id, { type, q }, signal) {
    const search = async (query, types) => {
      const params = { query: query.slice(0, 1000), filters: { type: types }, limit: SEARCHED };
      const { results } = await call("cstp.searchKnowledge", params, signal);
      return results.find((one) => one.id === id) ?? null;
    };
    const known = [...UNLISTED, ...LISTS.map(([name]) => name)].includes(type) ? type : "extraction";
    const found = q?.trim() ? await search(q, known) : null;
    if (found) return found;
    for (const [listed, method] of LISTS) {
      if (known !== "extraction" && known !== listed) continue;
      for (let page = 0; page < MOST_PAGES; page++) {
        const { results, metadata } = await call(method, { limit: PAGE, offset: page * PAGE }, signal);
        const row = results.find((one) => one.id === id);
        if (row) return (await search(cstp.headingOf(listed, row), listed)) ?? fromList(row, listed);
        if ((page + 1) * PAGE >= metadata.totalCount) break;
      }
    }
    const words = id.replace(/[^\p{L}\p{N}]+/gu, " ").trim() || id;
    for (const unlisted of UNLISTED) {
      const one = await search(words, unlisted); // all there are, where they are no more than a search gives
      if (one) return one;
    }
    return null;
  }

  /** A row of a list in the form that a search has. */
  function fromList(row, type) {
    const { id, topics, sourceTitle, sourceId, chunkId } = row;
    return { id, extractionType: type, topics, chunkId, content: row, source: { sourceId, title: sourceTitle } };
  }

  function useExtraction(id, params) {
    const { call } = cstp.useVisitor();
    const [state, setState] = useState({ result: null, error: null, loading: true, missing: false });
    const [round, setRound] = useState(0);
    const { type, q } = params;
    useEffect(() => {
      const stop = new AbortController();
      setState({ result: null, error: null, loading: true, missing: false });
      findExtraction(call, id, { type, q }, stop.signal).then(
        (result) => setState({ result, error: null, loading: false, missing: result === null }),
        (error) => error.name !== "AbortError" && setState({ result: null, error, loading: false, missing: false }),
      );
      return () => stop.abort();
    }, [id, round, call]);
    return { ...state, again: () => setRound(round + 1) };
  }

  function FromPassage({ id }) {
    const found = cstp.useCall("cstp.getChunk", { chunkId: id, includeRelated: false });
    if (found.error?.code === -32007) return html`<p class="hint">The passage ${id} is not stored.</p>`;
    return html`<section>
      <h2>The passage that it comes from</h2>
      <${cstp.Answer} of=${found} lines=${5} show=${(chunk) => html`
        <div class="card whole-text"><${cstp.Markdown} text=${chunk.content} /></div>
        <p><${cstp.RecordLink} type="chunk" id=${id}>The passage with what is related</${cstp.RecordLink}></p>`} />
    </section>`;
  }

  function ExtractionShown({ one }) {
    const type = one.extractionType;
    return html`<div class="columns">
      <div>
        <div class="card whole-text"><${cstp.Extracted} type=${type} content=${one.content} /></div>
        <${cstp.CallShown} method="cstp.searchKnowledge"
          params=${{ query: cstp.headingOf(type, one.content).slice(0, 1000), filters: { type }, limit: 10 }} />
      </div>
      <aside class="cards">
        <section class="card">
          <h2>What it is</h2>
          <${cstp.Facts} rows=${[
            ["Type", html`<${cstp.Pill} kind="kind" value=${type} />`],
            ["Topics", one.topics.length > 0 && html`<${cstp.Topics} topics=${one.topics} />`],
            ["Source", one.source && html`<${cstp.SourceLink} id=${one.source.sourceId} title=${one.source.title} />`],
            ["Passage", one.chunkId && html`<${cstp.RecordLink} type="chunk" id=${one.chunkId} />`],
            ["Id", html`<code>${one.id}</code> <${cstp.Copy} text=${one.id} />`],
          ]} />
        </section>
      </aside>
    </div>
    ${one.chunkId && html`<${FromPassage} id=${one.chunkId} />`}`;
  }

  function Missing({ id }) {
    return html`<div class="card">
      <p>The server has no method that reads an extraction by its id. This page looked for <code>${id}</code> in
        ${" "}<code>cstp.getDecisions</code>, <code>cstp.getPatterns</code>, <code>cstp.getWarnings</code> and
        ${" "}<code>cstp.searchKnowledge</code>, and found none: it may be gone, out of this token's sight, or one of many
        checklists, methodologies, personas or workflows.</p>
      <p><a href=${cstp.address.to("knowledge", { type: "extraction", q: id.replace(/[^\p{L}\p{N}]+/gu, " ").trim() })}>
        Search the extractions</a> for its words, or read it on the server's machine:</p>
      <p><code>cstp show ${id}</code> <${cstp.Copy} text=${`cstp show ${id}`} /></p>
    </div>`;
  }

  function Extraction({ path, params }) {
    const id = path[0] ?? "";
    const found = useExtraction(id, params);
    const title = found.result ? cstp.headingOf(found.result.extractionType, found.result.content) : "Extraction";
    return html`<${cstp.PageHead} title=${short(title)}>
        <span class="muted">${found.result ? found.result.extractionType : ""}</span>
      </${cstp.PageHead}>
      ${found.missing
        ? html`<${Missing} id=${id} />`
        : html`<${cstp.Answer} of=${found} lines=${12} show=${(one) => html`<${ExtractionShown} one=${one} />`} />`}`;
  }

  cstp.pages.episode = Episode;
  cstp.pages.extraction = Extraction;
  cstp.shortened = short;
}
