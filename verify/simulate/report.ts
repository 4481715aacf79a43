// Renders the report of a run: the counts of what happened, and each invariant with examples of its
// violations.
import type { SimulationOptions } from './arguments.ts'
import { addCount, type Counts, countTable } from './counts.ts'
import type { PlantedRule } from './faults.ts'
import type { History, Operation, RefusedRequest } from './history.ts'
import type { Verdict } from './invariants.ts'
import type { Figures } from './sender.ts'

interface Report {
  readonly options: SimulationOptions
  /** Number of operations without a final answer when the traffic ended. */
  readonly pending: number
  readonly history: History
  readonly figures: Figures
  readonly faults: readonly PlantedRule[]
  readonly verdicts: readonly Verdict[]
}

const EXAMPLES = 5

export function showReport(report: Report): string {
  const { options, history, faults, verdicts } = report
  const hits: Counts = new Map()
  for (const { fault, struck } of faults) addCount(hits, fault, struck)
  const payments = history.operations.filter(isPayment).length
  return [
    `\n${payments} payments, ${history.operations.length} operations, ` +
      `${options.concurrency} at a time, ${options.faults ? 'faults' : 'no faults'}, ` +
      `seed ${options.seed}\n`,
    countTable('count', 'Outcomes', outcomesOf(history)),
    countTable('count', 'Requests', requestsOf(report)),
    ...(options.faults ? [countTable('count', 'Requests hit by provider faults', hits)] : []),
    "  checked  Invariants, against the provider's log and the clients' answers",
    ...verdicts.flatMap(showVerdict),
    `\n${conclusion(report)}\n`,
  ].join('\n')
}

function outcomesOf({ operations, refused }: History): Counts {
  const outcomes: Counts = new Map()
  for (const name of [...operations.map(nameOfOutcome), ...refused.map(nameOfRefusal)]) {
    addCount(outcomes, name)
  }
  return outcomes
}

function nameOfOutcome({ content, answers: [first] }: Operation): string {
  if (first === undefined) return `${content.kind}: no final answer`
  return `${content.kind}: ${first.status} ${first.problem ?? first.resource.status ?? ''}`
}

const REFUSALS: Readonly<Record<RefusedRequest['why'], string>> = {
  reuse: 'reused key',
  invalid: 'invalid amount',
  too_much: 'refund beyond the capture',
}

function nameOfRefusal({ why, answer }: RefusedRequest): string {
  return `${REFUSALS[why]}: ${answer?.status ?? 'no'} ${answer?.problem ?? 'answer'}`
}

function requestsOf({ figures, history, pending }: Report): Counts {
  const { requests, replays, drops, retries } = figures
  return new Map([
    ['requests, including retries', requests],
    ['connections dropped by clients', drops],
    ['keys with more than one answer', history.operations.filter(isRepeated).length],
    ['replays', replays],
    ...[...retries].map(([reason, times]) => [`retries after ${reason}`, times] as const),
    ['pending when the traffic ended', pending],
  ])
}

const isPayment = ({ content }: Operation) => content.kind === 'payment.create'
const isRepeated = ({ answers }: Operation) => answers.length > 1

function showVerdict({ promise, checked, broken }: Verdict): string[] {
  const verdict = broken.length === 0 ? 'OK' : 'BROKEN'
  const examples = broken.slice(0, EXAMPLES).map((text) => `             ${text}`)
  const rest = broken.length - examples.length
  const more = rest > 0 ? [`             and ${rest} more`] : []
  return [`${String(checked).padStart(9)}  ${promise}: ${verdict}`, ...examples, ...more]
}

function conclusion({ verdicts, history, options: { seed } }: Report): string {
  const broken = verdicts.filter((verdict) => verdict.broken.length > 0).length
  if (broken === 0) return `OK: all ${verdicts.length} invariants hold`
  const where = `simulation=${history.run} in the metadata, seed ${seed}`
  return `BROKEN: ${broken} of ${verdicts.length} invariants do not hold (${where})`
}
