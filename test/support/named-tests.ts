// The pages that say which test shows what: the tests that they name, and the titles that there are.
import { existsSync, readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)

export interface NamedTest {
  readonly file: string
  readonly title: string
}

export function readPage(path: string): string {
  return readFileSync(new URL(path, root), 'utf8')
}

/** Every test that a page names as file and title, at the end of a line or of a row of a table. */
export function namedTests(page: string): NamedTest[] {
  const named = page.matchAll(/`(?<file>test\/[\w/-]+\.test\.ts)`: (?<title>.+?)(?: \|)?$/gm)
  return [...named].map(({ groups }) => ({
    file: groups?.['file'] ?? '',
    title: groups?.['title'] ?? '',
  }))
}

/** Whether the file has the title as a text of its own. */
export function hasTest({ file, title }: NamedTest): boolean {
  if (!existsSync(new URL(file, root))) return false
  const text = readPage(file)
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((literal) => text.includes(literal))
}

/** What stands below each heading of the second level: its title, its words, and its list of tests. */
export function readSections(
  page: string,
): { readonly title: string; readonly words: string; readonly list: string }[] {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...paragraphs] = (section.split(/^# /m)[0] ?? '').split('\n\n')
      const isList = (paragraph: string) => paragraph.startsWith('- `test/')
      return {
        title,
        words: paragraphs.filter((paragraph) => !isList(paragraph)).join('\n'),
        list: paragraphs.filter(isList).join('\n'),
      }
    })
}
