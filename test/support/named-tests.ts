// Reads the tests that a page names as evidence, and checks that these tests exist.
import { existsSync, readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)

export interface NamedTest {
  readonly file: string
  readonly title: string
}

export function readPage(path: string): string {
  return readFileSync(new URL(path, root), 'utf8')
}

/** Returns the tests that a page names by file and title at the end of a line or of a table row. */
export function namedTests(page: string): NamedTest[] {
  const named = page.matchAll(/`(?<file>test\/[\w/-]+\.test\.ts)`: (?<title>.+?)(?: \|)?$/gm)
  return [...named].map(({ groups }) => ({
    file: groups?.['file'] ?? '',
    title: groups?.['title'] ?? '',
  }))
}

/** Whether the file contains the title as a complete string literal. */
export function hasTest({ file, title }: NamedTest): boolean {
  if (!existsSync(new URL(file, root))) return false
  const text = readPage(file)
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((literal) => text.includes(literal))
}

/** Returns the title, the text and the list of tests of each section of the second level. */
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
