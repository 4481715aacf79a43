// Parses the part of Prometheus's query language that the alerts and the dashboard use: the metrics
// and labels that an expression selects.

export interface Selector {
  readonly metric: string
  readonly matchers: readonly { label: string; operator: string; value: string }[]
}

export interface Expression {
  readonly selectors: readonly Selector[]
  /** The labels of its `by` and `without` clauses. */
  readonly groupedBy: readonly string[]
}

const WORDS = new Set(['by', 'without', 'or', 'and', 'unless', 'on', 'ignoring', 'bool', 'offset'])

/** Matches a name, its matchers in braces if any, and the parenthesis of a function call. */
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
