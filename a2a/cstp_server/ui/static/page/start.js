"use strict";
// The last file: shows the page.
{
  const place = document.getElementById("page");
  place.replaceChildren();
  preact.render(cstp.html`<${cstp.Page} />`, place);
}
