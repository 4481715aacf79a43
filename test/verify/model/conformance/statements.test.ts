import { beforeAll, expect, test } from '@jest/globals'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { drawFixture } from '../../../../verify/model/conformance/fixture.ts'
import { drawProgram } from '../../../../verify/model/conformance/functions.ts'
import { MemorySessions } from '../../../../verify/model/conformance/memory-sessions.ts'
import { mutants } from '../../../../verify/model/mutants/mutants.ts'
import { loadProduct, type Product } from '../../../../verify/model/programs/product.ts'
import { Run } from '../../../../verify/model/programs/run.ts'
import { CLEARED_COLUMNS } from '../../../../verify/model/space/canonical.ts'
import { explore } from '../../../../verify/model/space/explore.ts'
import { slices } from '../../../../verify/model/space/spaces.ts'
import { parsedStatements } from '../../../../verify/model/store/memory-store.ts'
import { seededRandom } from '../../../../verify/simulate/random.ts'

/** Spaces whose programs send every statement of the model, and how many states are enough for them. */
const EXPLORED: Readonly<Record<string, number>> = {
  'a key is deleted': 1_000,
  'absence-believed-too-early': 300,
  'failed-refund-believed-absent': 2_500,
  'no-fencing-by-lease-epoch': 2_500,
  'reference-not-written': 1_000,
  'reference-of-a-refund-not-written': 1_000,
  'refused-key-kept': 2_000,
  'refused-refund-counts-as-undone': 6_000,
  'slice-of-refund.create-3x3x3': 1_000,
}
const HISTORIES_MAX = 2_000
const TIMEOUT_MS = 300_000

let product: Product
/** The statements of the model's programs. */
let texts: readonly string[]

beforeAll(async () => {
  // It also has what other test files parsed.
  parsedStatements.clear()
  product = await loadProduct(REPOSITORY)
  const spaces = [...mutants.map(({ space }) => space), ...slices]
  for (const space of spaces) {
    const statesMax = EXPLORED[space.name]
    if (statesMax !== undefined) await explore(product, space, { statesMax })
  }
  texts = [...parsedStatements.keys()]
}, TIMEOUT_MS)

/** Without the numbers of its parameters and rows. */
const shapeOf = (text: string): string =>
  text
    .replace(/\bvalues\s?\(.*?\)(?= on conflict| returning|$)/, 'values')
    .replaceAll(/\$\d+/g, '$')

test('histories send every statement that the programs of the model send', async () => {
  const missing = new Set(texts.map(shapeOf))
  expect(missing.size).toBeGreaterThan(70)

  for (let seed = 1; missing.size > 0 && seed <= HISTORIES_MAX; seed += 1) {
    for (const text of await sendAlone(seed)) missing.delete(shapeOf(text))
  }

  expect([...missing]).toEqual([])
})

/** The statements of a few programs of a history, one after the other. */
async function sendAlone(seed: number): Promise<string[]> {
  const random = seededRandom(seed)
  const sessions = new MemorySessions(product.schema, drawFixture(product.schema, random), 1)
  const sent: string[] = []
  for (let count = 0; count < 6; count += 1) {
    const run = new Run(drawProgram(random).run)
    await run.runUntilPending()
    for (let { pending } = run; pending !== undefined; { pending } = run) {
      if (pending.kind === 'call') throw new Error('a provider is called')
      if (pending.kind === 'statement') sent.push(pending.text)
      if (!sessions.isOpen(0)) sessions.begin(0)
      const result =
        pending.kind === 'statement' ? sessions.execute(0, pending) : sessions.end(0, pending.kind)
      if (result === undefined) throw new Error('a statement waits')
      await run.answer(
        result.kind === 'error'
          ? { message: '', constraint: undefined, ...result }
          : pending.kind === 'statement'
            ? result
            : { kind: 'done' },
      )
    }
  }
  return sent
}

test('no statement of the model decides by a column that the model clears', () => {
  for (const text of texts) {
    const decisions = decisionsIn(parsedStatements.get(text))
    const columns = decisions.flatMap((part) => namesIn(part, 'column'))
    for (const table of namesIn(parsedStatements.get(text), 'table')) {
      const cleared = Object.keys(CLEARED_COLUMNS[table] ?? {})
      expect({ text, cleared: cleared.filter((name) => columns.includes(name)) }).toEqual({
        text,
        cleared: [],
      })
    }
  }
})

type Tree = Readonly<Record<string, unknown>>

const partsOf = (tree: unknown): [string, unknown][] =>
  typeof tree === 'object' && tree !== null ? Object.entries(tree) : []

/** The conditions, and what a change writes. */
function decisionsIn(tree: unknown): unknown[] {
  return partsOf(tree).flatMap(([name, part]) =>
    ['where', 'on', 'when', 'set'].includes(name) ? [part] : decisionsIn(part),
  )
}

/** The names of the nodes of a kind. The table of a change is no node of its own. */
function namesIn(tree: unknown, kind: 'column' | 'table'): string[] {
  const { kind: own, name, table } = partsOf(tree).length > 0 ? (tree as Tree) : {}
  const names = own === kind ? [name] : kind === 'table' ? [table] : []
  return [
    ...names.filter((each) => typeof each === 'string'),
    ...partsOf(tree).flatMap(([, part]) => namesIn(part, kind)),
  ]
}
