"use strict";
// The last file of a site: shows the page to a visitor who reads what the files hold.
{
  const { html } = cstp;
  const { useEffect, useState } = cstp.hooks;

  function visitorOf({ agent, title, written, counts }) {
    return {
      call: cstp.site.call,
      agent,
      title,
      scopes: ["read"],
      about: `${cstp.plural(counts.decisions, "decision")}, as of ${written}`,
      asOf: written,
      cut: counts.cut ? counts.searched : null,
      may: () => false,
      live: false,
    };
  }

  function Site() {
    const [visitor, setVisitor] = useState(null);
    const [error, setError] = useState(null);
    const start = () => {
      setError(null);
      cstp.site.about().then((about) => {
        cstp.name = about.title; // in the titles of windows
        setVisitor(visitorOf(about));
      }, setError);
    };
    useEffect(start, []);
    if (error) return html`<main><h1>CSTP</h1><${cstp.Failure} error=${error} again=${start} /></main>`;
    if (visitor === null) return html`<p class="starting">Loading …</p>`;
    return html`<${cstp.Frame} visitor=${visitor} leave=${null} />`;
  }

  const place = document.getElementById("page");
  place.replaceChildren();
  preact.render(html`<${Site} />`, place);
}
