// Replaces the generated sections of a Markdown page. A section stands between two lines:
// `<!-- generated: NAME -->` and `<!-- end of generated -->`. The rest of the page is not changed.

/** A page that cannot be generated, for example because of an unknown section. */
export class DocumentError extends Error {
  override name = 'DocumentError'
}

const START = /^<!-- generated: (?<name>\S.*) -->$/
const END = '<!-- end of generated -->'
const LIKE_A_MARKER = /^\s*<!--\s*(?:end of )?generated\b/
const FENCE = /^\s*```/

/**
 * Returns the text of the page, the names of its sections, and of those whose content differed.
 *
 * @param render renders the content of a section, or throws DocumentError for an unknown name.
 * @throws DocumentError also for an invalid marker, or a missing start or end.
 */
export function fillSections(page: string, render: (name: string) => string) {
  const lines = page.split('\n')
  const text: string[] = []
  const sections: string[] = []
  const stale: string[] = []
  // A code block can show markers as an example.
  let inCode = false
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    text.push(line)
    if (FENCE.test(line)) inCode = !inCode
    if (inCode) continue
    if (line === END) throw new DocumentError(`line ${index + 1} ends a section that has no start`)
    const name = START.exec(line)?.groups?.['name']
    if (name === undefined) {
      if (LIKE_A_MARKER.test(line)) throw new DocumentError(`line ${index + 1} is no valid marker`)
      continue
    }
    const end = findEnd(lines, index, name)
    const content = ['', ...render(name).trim().split('\n'), '']
    if (lines.slice(index + 1, end).join('\n') !== content.join('\n')) stale.push(name)
    sections.push(name)
    text.push(...content, END)
    index = end
  }
  return { text: text.join('\n'), sections, stale }
}

function findEnd(lines: readonly string[], start: number, name: string): number {
  const end = lines.findIndex((line, index) => index > start && (line === END || START.test(line)))
  if (lines[end] === END) return end
  throw new DocumentError(`the section \`${name}\` has no end`)
}
