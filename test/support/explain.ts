// Explains statements of a function, for tests of their plans.
import type { Sql, Transaction } from '../../src/db/connection/client.ts'

/** A node of a plan in PostgreSQL's JSON format. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/**
 * Executes the function, whose statements that match are explained and return no rows.
 *
 * @returns all nodes of their plans.
 */
export async function explain(
  sql: Sql,
  matching: RegExp,
  run: (explaining: Sql) => Promise<unknown>,
): Promise<PlanNode[]> {
  const roots: PlanNode[] = []
  const explainingOf = <Client extends Sql | Transaction>(client: Client): Client =>
    new Proxy(client, {
      get(target, name) {
        if (name !== 'begin') return Reflect.get(target, name) as unknown
        return (work: (tx: Transaction) => Promise<unknown>) =>
          (target as Sql).begin((tx) => work(explainingOf(tx)))
      },
      apply(target, self, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) {
        const [first = '', ...rest] = Array.isArray(strings) ? strings : []
        if (!matching.test(first)) return Reflect.apply(target, self, [strings, ...values])
        const raw = [`explain (analyze, format json) ${first}`, ...rest]
        const text = Object.assign(raw, { raw })
        const rows = Reflect.apply(target, self, [text, ...values]) as Promise<object[]>
        return rows.then(([row]) => {
          const plans = (row as { 'QUERY PLAN': { Plan: PlanNode }[] })['QUERY PLAN']
          roots.push(...plans.map(({ Plan }) => Plan))
          return Object.assign([], { columns: [] })
        })
      },
    })
  await run(explainingOf(sql))
  return roots.flatMap(withChildren)
}

function withChildren(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(withChildren)]
}

/** How many rows of a table the plan reads. */
export function rowsRead(nodes: readonly PlanNode[], table: string): number {
  const scans = nodes.filter((node) => node['Relation Name'] === table)
  return scans.reduce(
    (sum, node) =>
      sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    0,
  )
}
