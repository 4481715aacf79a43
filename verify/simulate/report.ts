// Renders the report of a run: tables of at most 110 columns, with examples of each violation.
import { spreadOf } from '../../bench/spread.ts'
import type { SimulationOptions } from './arguments.ts'
import type { Verdict } from './invariants.ts'
import type { Figures } from './sender.ts'
import type { History, Operation, RefusedRequest } from './history.ts'
import type { PlantedRule } from './faults.ts'

export interface Report {
  readonly options: SimulationOptions
  /** Duration of the traffic, without the wait for pending operations. */
  readonly trafficSeconds: number
  readonly settleSeconds: number
  /** Number of operations without a final answer when the traffic ended. */
  readonly pendingAfterTraffic: number
  readonly history: History
  readonly figures: Figures
  readonly faults: readonly PlantedRule[]
  readonly verdicts: readonly Verdict[]
}

const WIDTH = 110
const EXAMPLES = 5

export function showReport(report: Report): string {
  const { figures, history, verdicts } = report
  const rows = [
    ...section('Outcomes', ['', 'count']),
    ...countRows(outcomesOf(history)),
    ...section('Latency in ms, including retries', ['', 'calls', 'p50', 'p95', 'p99', 'max']),
    ...latencyRows(figures),
    ...section('Requests', ['', 'count']),
    ...countRows(requestsOf(report)),
    ...faultRows(report),
    ...section("Invariants, checked against the provider's log and the clients' answers", [
      '',
      'checked',
      'verdict',
    ]),
    ...verdicts.flatMap(verdictRows),
  ]
  const line = '='.repeat(WIDTH)
  return [line, ...headline(report), line, ...rows, line, conclusion(report), ''].join('\n')
}

function headline({
  options,
  trafficSeconds,
  settleSeconds,
  pendingAfterTraffic,
  history,
}: Report) {
  const payments = history.operations.filter(
    ({ content }) => content.kind === 'payment.create',
  ).length
  const rate = (history.operations.length / trafficSeconds).toFixed(0)
  const faults = options.faults ? 'faults' : 'no faults'
  return [
    `${show(payments)} payments, ${show(history.operations.length)} operations, ` +
      `${options.concurrency} at a time, ${faults}, seed ${options.seed}`,
    `${trafficSeconds.toFixed(1)} s of traffic, ${rate} operations/s, then ` +
      `${settleSeconds.toFixed(1)} s of waiting for ${show(pendingAfterTraffic)} operations`,
  ]
}

function conclusion({ verdicts, history, options: { seed } }: Report): string {
  const broken = verdicts.filter((verdict) => verdict.broken.length > 0).length
  if (broken === 0) return `OK: all ${verdicts.length} invariants hold`
  const where = `simulation=${history.run} in the metadata, seed ${seed}`
  return `BROKEN: ${broken} of ${verdicts.length} invariants do not hold (${where})`
}

function section(title: string, heads: readonly string[]): string[] {
  return ['', row([title, ...heads.slice(1)]), '-'.repeat(WIDTH)]
}

const FIRST = 60
const OTHERS = 10

function row([first = '', ...others]: readonly (string | number)[]): string {
  const cells = others.map((cell) => String(cell).padStart(OTHERS))
  return `${String(first).padEnd(FIRST)}${cells.join('')}`.trimEnd()
}

function countRows(counts: ReadonlyMap<string, number>): string[] {
  return [...counts]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([name, count]) => row([name, show(count)]))
}

function outcomesOf({ operations, refused }: History): Map<string, number> {
  const names = [...operations.map(nameOfOutcome), ...refused.map(nameOfRefusal)]
  return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]))
}

function nameOfOutcome({ content, answers: [first] }: Operation): string {
  if (first === undefined) return `${content.kind}: no final answer`
  if (first.problem !== undefined) return `${content.kind}: ${first.status} ${first.problem}`
  return `${content.kind}: ${first.status} ${first.resource.status ?? ''}`
}

const REFUSALS: Readonly<Record<RefusedRequest['why'], string>> = {
  reuse: 'reused key',
  invalid: 'invalid amount',
  too_much: 'refund beyond the capture',
}

function nameOfRefusal({ why, answer }: RefusedRequest): string {
  return `${REFUSALS[why]}: ${answer?.status ?? 'no'} ${answer?.problem ?? 'answer'}`
}

function latencyRows({ latencies }: Figures): string[] {
  return [...latencies]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([name, times]) => {
      const { count, median, p95, p99, max } = spreadOf(times)
      return row([name, show(count), ...[median, p95, p99, max].map((ms) => show(Math.round(ms)))])
    })
}

function requestsOf({ figures, history, pendingAfterTraffic }: Report): Map<string, number> {
  const { requests, replays, drops, retries } = figures
  const repeated = history.operations.filter(({ answers }) => answers.length > 1).length
  const sum = [...retries.values()].reduce((total, count) => total + count, 0)
  const reasons = [...retries].map(([reason, count]) => [`retries after ${reason}`, count] as const)
  return new Map([
    ['requests, including retries', requests],
    ['connections dropped by clients', drops],
    ['keys with more than one answer', repeated],
    ['replays', replays],
    ['retries', sum],
    ...reasons,
    ['pending when the traffic ended', pendingAfterTraffic],
  ])
}

function faultRows({ options, faults }: Report): string[] {
  if (!options.faults) return []
  const hits = new Map<string, number>()
  for (const rule of faults) hits.set(rule.fault, (hits.get(rule.fault) ?? 0) + rule.struck)
  return [...section('Requests hit by provider faults', ['', 'count']), ...countRows(hits)]
}

function verdictRows({ promise, checked, broken }: Verdict): string[] {
  const verdict = broken.length === 0 ? 'OK' : 'BROKEN'
  const examples = broken.slice(0, EXAMPLES).map((text) => `    ${text}`)
  const rest = broken.length - examples.length
  const more = rest > 0 ? [`    and ${show(rest)} more`] : []
  return [row([promise, show(checked), verdict]), ...examples, ...more]
}

function show(count: number): string {
  return count.toLocaleString('en')
}
