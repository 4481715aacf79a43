// Measures the same subjects under several conditions, and compares each condition with the first one. The
// conditions are measured in turn, so that a busy moment of the machine affects all of them.
import type { Table } from '../report.ts'
import { medianOf, rounded } from '../spread.ts'
import { runRounds, warmUp, type Condition, type Measurement, type Row } from './rounds.ts'
import { subjectNamed } from './subjects.ts'

export async function runConditions(
  conditions: readonly Condition[],
  measurements: readonly Measurement[],
  rounds: number,
): Promise<Row[]> {
  const busy = measurements.filter(({ concurrency }) => concurrency > 1)
  for (const condition of conditions) await warmUp(condition, busy)
  return await runRounds(conditions, measurements, rounds)
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

export const figures: Record<ComparedFigure['figure'], (row: Row) => number> = {
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
