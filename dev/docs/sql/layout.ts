// Lays out the text of a composed statement for reading. Line breaks stay as in the source. Each fragment
// is indented like the place where it is inserted. Only white space changes.
import { renderStatement, type Template } from './statement-text.ts'

const STEP = '  '

/** The text of a statement, with its fragments indented. */
export function layOutStatement(template: Template): string {
  const { text } = renderStatement(template, { join: joinIndented, separator: '\n' })
  return tidy(text).replaceAll(/(?<=\S) {2,}/g, ' ')
}

/** Removes blank lines, white space at the end of lines, and the indentation that all lines share. */
export function tidy(text: string): string {
  const [first = '', ...others] = text.split('\n').map((line) => line.trimEnd())
  const lines = others.filter((line) => line !== '')
  const shared = Math.min(...lines.map((line) => indentationOf(line).length))
  const dedented = lines.map((line) => line.slice(shared))
  return [...(first.trim() === '' ? [] : [first.trim()]), ...dedented].join('\n')
}

function joinIndented(before: string, fragment: string, after: string): string {
  const lines = tidy(fragment).split('\n')
  if (lines.length === 1) return before + lines.join('') + after
  const lastLine = before.slice(before.lastIndexOf('\n') + 1)
  const indentation = indentationOf(lastLine)
  const inner = lines.map((line) => `\n${indentation}${STEP}${line}`).join('')
  const end = lastLine.endsWith('(') ? closingParenthesis(after) : undefined
  if (end !== undefined) {
    const more = after.slice(0, end).trim()
    const moreInner = more === '' ? '' : `\n${indentation}${STEP}${more}`
    return `${before}${inner}${moreInner}\n${indentation}${after.slice(end)}`
  }
  if (/\b(select|returning) $/.test(lastLine)) {
    return before.trimEnd() + inner + after.replace(/^ (?=from\b)/, `\n${indentation}`)
  }
  return before + lines.join(`\n${indentation}`) + after
}

/** The position of the parenthesis that closes one before the text, or undefined. */
function closingParenthesis(text: string): number | undefined {
  let depth = 1
  for (const { 0: symbol, index } of text.matchAll(/[()]/g)) {
    depth += symbol === '(' ? 1 : -1
    if (depth === 0) return index
  }
  return undefined
}

function indentationOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length)
}
