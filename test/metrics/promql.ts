// As much of Prometheus's query language as our alerts use: which metrics an expression selects, and by
// which labels.

export interface Selector {
  readonly metric: string
  readonly matchers: readonly { label: string; operator: string; value: string }[]
}

export interface Expression {
  readonly selectors: readonly Selector[]
  /** The labels that are grouped by. */
  readonly groupedBy: readonly string[]
}

const WORDS = new Set(['by', 'without', 'or', 'and', 'unless', 'on', 'ignoring', 'bool', 'offset'])

/** A name, the labels in braces if there are any, and whether it is called as a function. */
const NAME = /(?<![\w"[.])(?<name>[a-z_]\w*)\s*(?:\{(?<matchers>[^}]*)\})?(?<call>\s*\()?/gi
const MATCHER = /(?<label>\w+)\s*(?<operator>=~|!~|!=|=)\s*"(?<value>[^"]*)"/g
const GROUPING = /\b(?:by|without)\s*\((?<labels>[^)]*)\)/g

export function parseExpression(text: string): Expression {
  const groupedBy = [...text.matchAll(GROUPING)].flatMap(({ groups }) =>
    (groups?.['labels'] ?? '').split(',').map((label) => label.trim()),
  )
  const selectors = [...text.replaceAll(GROUPING, ' ').matchAll(NAME)]
    .filter(({ groups }) => groups?.['call'] === undefined && !WORDS.has(groups?.['name'] ?? ''))
    .map(({ groups }) => ({
      metric: groups?.['name'] ?? '',
      matchers: [...(groups?.['matchers'] ?? '').matchAll(MATCHER)].map(({ groups: matched }) => ({
        label: matched?.['label'] ?? '',
        operator: matched?.['operator'] ?? '',
        value: matched?.['value'] ?? '',
      })),
    }))
  return { selectors, groupedBy }
}
