// Measures the same subjects under several conditions, and compares each condition with the first one. The
// conditions are measured in turn, so that a busy moment of the machine affects all of them.
import type { Table } from '../report.ts'
import { medianOf, rounded } from '../spread.ts'
import { measure, runWarmUp, type Measurement, type RoundParts, type Row } from './rounds.ts'
import { subjectNamed, type SubjectName } from './subjects.ts'

export interface Condition {
  readonly name: string
  readonly parts: RoundParts
  /** Runs the work under the condition. By default it is always met. */
  readonly within?: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** The subjects that it cannot have. */
  readonly without?: readonly SubjectName[]
}

const always: NonNullable<Condition['within']> = async (work) => await work()

const WARM_UP_MAX_SECONDS = 1.5

export async function runConditions(
  conditions: readonly Condition[],
  measurements: readonly Measurement[],
  rounds: number,
): Promise<Row[]> {
  const isPossible = ({ without = [] }: Condition) =>
    measurements.filter(({ subject }) => !without.includes(subject.name))
  for (const condition of conditions) {
    const busy = isPossible(condition).filter(({ concurrency }) => concurrency > 1)
    const short = busy.map((one) => ({
      ...one,
      seconds: Math.min(one.seconds, WARM_UP_MAX_SECONDS),
    }))
    await (condition.within ?? always)(() => runWarmUp(condition.parts, short))
  }
  const count = conditions.reduce((sum, condition) => sum + isPossible(condition).length, 0)
  const progressed = conditions[0]?.parts.progress.begin('Measuring', rounds * count)
  const rows: Row[] = []
  for (let round = 1; round <= rounds; round += 1) {
    for (const measurement of measurements) {
      for (const condition of rotated(conditions, round)) {
        if (!isPossible(condition).includes(measurement)) continue
        const { name, parts, within = always } = condition
        parts.signal.throwIfAborted()
        const row = await within(() => measure(parts, measurement, round))
        rows.push({ ...row, condition: name })
        progressed?.(rows.length)
      }
    }
  }
  return rows
}

/** Each round starts with a different item. */
function rotated<Item>(items: readonly Item[], round: number): Item[] {
  const first = round % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

/** A figure of a subject under a condition, divided by the same one under the first condition. */
export interface ComparedFigure extends Pick<Row, 'subject' | 'concurrency' | 'condition'> {
  /** `cpu` is the processor time per answer, of Node and PostgreSQL together. */
  readonly figure: 'per second' | 'p50' | 'p99' | 'cpu'
  /** Medians over the rounds. */
  readonly first: number
  readonly own: number
  /** The median over the rounds, and its spread. */
  readonly ratio: number
  readonly lowest: number
  readonly highest: number
}

const figures: Record<ComparedFigure['figure'], (row: Row) => number> = {
  'per second': ({ perSecond }) => perSecond,
  p50: ({ latencyMs }) => latencyMs.median,
  p99: ({ latencyMs }) => latencyMs.p99,
  cpu: ({ nodeCpuMs, postgresCpuMs }) => nodeCpuMs + postgresCpuMs,
}

/** @param first the name of the condition to compare with. */
export function compareConditions(rows: readonly Row[], first: string): ComparedFigure[] {
  const groups = Map.groupBy(
    rows.filter(({ condition }) => condition !== first),
    ({ subject, concurrency, condition }) => `${subject} ${concurrency} ${condition}`,
  )
  return [...groups.values()].flatMap((group) =>
    (Object.keys(figures) as ComparedFigure['figure'][]).map((figure) => {
      const pairs = group.flatMap((own) => {
        const other = rows.find(
          ({ subject, concurrency, round, condition }) =>
            condition === first &&
            subject === own.subject &&
            concurrency === own.concurrency &&
            round === own.round,
        )
        return other === undefined ? [] : [[figures[figure](other), figures[figure](own)] as const]
      })
      const ratios = pairs.map(([before, own]) => own / Math.max(Number.EPSILON, before))
      const { subject, concurrency, condition } = group[0] as Row
      return {
        subject,
        concurrency,
        condition,
        figure,
        first: medianOf(pairs.map(([before]) => before)),
        own: medianOf(pairs.map(([, own]) => own)),
        ratio: medianOf(ratios),
        lowest: rounded(Math.min(...ratios)),
        highest: rounded(Math.max(...ratios)),
      }
    }),
  )
}

/** @param p99Max the largest ratio of two p99s that is allowed. */
export function tableOfConditions(
  compared: readonly ComparedFigure[],
  first: string,
  p99Max?: number,
): Table {
  return {
    heading: ['', 'clients', '', first, 'own', 'ratio', 'lowest', 'highest', 'bound'],
    rows: compared.map(({ subject, condition, concurrency, figure, ratio, ...others }) => {
      const isBounded = p99Max !== undefined && figure === 'p99'
      const isMissed = isBounded && ratio > p99Max
      return {
        cells: [
          `${subjectNamed(subject).title}, ${condition}`,
          concurrency,
          figure,
          others.first,
          others.own,
          ratio,
          others.lowest,
          others.highest,
          isBounded ? `<= ${p99Max}${isMissed ? ' MISSED' : ''}` : '',
        ],
        mark: isBounded ? (isMissed ? 'missed' : 'reached') : undefined,
      }
    }),
  }
}
