"""DOCX: converted to Markdown by mammoth."""

from io import BytesIO
from typing import Final
from xml.dom import expatbuilder  # noqa: F401  minidom imports it late: later, this process cannot

import mammoth

from cognition_engines.ingest.formats.archives import office_members, opened_archive
from cognition_engines.ingest.formats.converted import Converted
from cognition_engines.ingest.formats.web_page import markdown_of_part, parse_html

# Word's own names, which mammoth reads in any language
_STYLES: Final = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


def convert(content: bytes) -> Converted:
    """Return the document in a file. Raise Unreadable if it is encrypted, broken or a bomb."""
    with opened_archive(content) as archive:
        members = office_members(archive)
    page = mammoth.convert_to_html(
        BytesIO(content),
        style_map=_STYLES,
        include_embedded_style_map=False,
        external_file_access=False,
        convert_image=mammoth.images.img_element(lambda image: {}),
    ).value
    return Converted(markdown_of_part(parse_html(page)), members)
