"use strict";
// One passage whole: its text, its knowledge card, its cluster, and what is related to it.
{
  const { html } = cstp;
  const { useMemo, useState } = cstp.hooks;

  const BARE = { expand: false, includeEvents: false, includeEntities: false };

  function Card({ card }) {
    if (!card) return null;
    return html`<section class="card">
      <h2>In short</h2>
      <p>${card.summary}</p>
      <ul>${card.takeaways.map((takeaway) => html`<li>${takeaway}</li>`)}</ul>
    </section>`;
  }

  function Cluster({ cluster }) {
    if (!cluster) return null;
    return html`<section class="card">
      <h2>${cluster.clusterName ? `Cluster: ${cluster.clusterName}` : "Clusters"}</h2>
      ${cluster.description && html`<p>${cluster.description}</p>`}
      <p class="hint">${cluster.clusterId.join(", ")}</p>
    </section>`;
  }

  function Related({ chunks }) {
    return html`<section>
      <h2>Related passages</h2>
      ${!chunks.length && html`<p class="empty">None: the passage has no vector, or stands alone.</p>`}
      <ol class="results" aria-label="Related passages">
        ${chunks.map((one) => html`<${cstp.Row} key=${one.chunkId} label=${`passage: ${one.title ?? one.chunkId}`}>
          <h3><${cstp.RecordLink} type="chunk" id=${one.chunkId}>${one.title ?? one.chunkId}</${cstp.RecordLink}></h3>
          <p class="meta"><span>likeness ${one.similarityScore.toFixed(2)}</span>${one.author && html`<span>${one.author}</span>`}</p>
          <${cstp.Snippet} text=${one.snippet} />
        </${cstp.Row}>`)}
      </ol>
    </section>`;
  }

  /** What was extracted from this passage: a search among the extractions of its source, as no method lists them. */
  function ExtractedFrom({ id, chunk, source }) {
    const query = (chunk.knowledgeCard?.summary ?? chunk.content).slice(0, 1000);
    const asked = useMemo(
      () => (source ? { query, filters: { source, type: "extraction" }, limit: 100 } : null),
      [query, source],
    );
    const found = cstp.useCall("cstp.searchKnowledge", asked);
    const here = (found.result?.results ?? []).filter((one) => one.chunkId === id);
    if (!here.length) return null;
    return html`<section class="card">
      <h2>Extracted from it</h2>
      <ul class="plain">
        ${here.map((one) => html`<li key=${one.id}>
          <${cstp.Pill} kind="kind" value=${one.extractionType} />${" "}
          <${cstp.RecordLink} type="extraction" id=${one.id} params=${{ type: one.extractionType, q: one.title }}>
            ${one.title ?? one.id}
          </${cstp.RecordLink}>
        </li>`)}
      </ul>
    </section>`;
  }

  /** The passage with the ones before and after it, where they are asked for. */
  function Text({ id, chunk, query }) {
    const { live } = cstp.useVisitor();
    const [around, setAround] = useState(false);
    const found = cstp.useCall("cstp.recall", around ? { id, ...BARE, expandNeighbors: true } : null);
    const text = around && found.result ? found.result.results[0].content : chunk.content;
    return html`<div class="card whole-text"><${cstp.Markdown} text=${text} query=${query} /></div>
      ${live && html`<p><label class="check">
        <input type="checkbox" checked=${around} onChange=${(event) => setAround(event.currentTarget.checked)} />
        With the passages before and after it
      </label></p>`}
      ${around && found.error && html`<${cstp.Failure} error=${found.error} again=${found.again} />`}`;
  }

  function Chunk({ id, chunk, query }) {
    const record = cstp.useCall("cstp.recall", { id, ...BARE });
    const source = record.result?.results[0]?.metadata.sourceId ?? null;
    return html`<div class="columns">
      <div>
        <${Text} id=${id} chunk=${chunk} query=${query} />
        <${Related} chunks=${chunk.relatedChunks} />
        <${cstp.CallShown} method="cstp.getChunk" params=${{ chunkId: id, relatedLimit: 10 }} />
      </div>
      <aside class="cards">
        <section class="card">
          <h2>Where it is from</h2>
          <${cstp.Facts} rows=${[
            ["Source", html`<${cstp.SourceLink} id=${source} title=${chunk.title} />`],
            ["Author", chunk.author],
            ["Came by", chunk.source],
            ["Place", chunk.chunkInfo],
            ["Tags", chunk.tags.length > 0 && html`<${cstp.Topics} topics=${chunk.tags} />`],
            ["At its source", chunk.sourceUrl && html`<${cstp.WebLink} address=${chunk.sourceUrl} />`],
            ["Highlight", chunk.highlightUrl && html`<${cstp.WebLink} address=${chunk.highlightUrl} />`],
            ["Readwise", chunk.readwiseUrl && html`<${cstp.WebLink} address=${chunk.readwiseUrl} />`],
            ["Id", html`<code>${id}</code> <${cstp.Copy} text=${id} />`],
          ]} />
        </section>
        <${Card} card=${chunk.knowledgeCard} />
        <${Cluster} cluster=${chunk.cluster} />
        <${ExtractedFrom} id=${id} chunk=${chunk} source=${source} />
      </aside>
    </div>`;
  }

  function Passage({ path, params }) {
    const id = path[0] ?? "";
    const found = cstp.useCall("cstp.getChunk", { chunkId: id, relatedLimit: 10 });
    const chunk = found.result;
    return html`<${cstp.PageHead} title=${chunk ? cstp.passageTitle({ id, ...chunk, source: null }) : found.error ? "No such passage" : "Passage"}>
        <span class="muted">${chunk ? `passage ${chunk.chunkInfo}` : ""}</span>
      </${cstp.PageHead}>
      <${cstp.Answer} of=${found} lines=${14} show=${() => html`<${Chunk} id=${id} chunk=${chunk} query=${params.q} />`} />
      ${found.error?.code === -32007 && html`<p>A passage of a long document is another kind of record:
        <a href=${cstp.address.to(["memory", id])}>look for ${id} in the memory</a>.</p>`}`;
  }

  cstp.pages.passage = Passage;
}
