// Judges whether the plans of a statement are the same at every table size.
import { shapeOf, type Plan } from '../plans.ts'

export interface SizedPlans {
  readonly size: number
  readonly plans: readonly Plan[]
}

export interface JudgedPlan {
  readonly of: string
  readonly statement: string
  readonly indexes: readonly string[]
  /** Large tables with a sequential scan at any size. */
  readonly scanned: readonly string[]
  /** The sizes at which the plan differs from the one at the smallest size. */
  readonly changesAt: readonly number[]
}

/** Returns one judgement per statement. A custom and a generic plan are both compared. */
export function judgePlans(sized: readonly SizedPlans[]): JudgedPlan[] {
  const [smallest, ...larger] = sized
  if (smallest === undefined) return []
  const names = [...new Set(smallest.plans.map(({ statement }) => statement))]
  return names.map((statement) => {
    const of = ({ plans }: SizedPlans) => plans.filter((plan) => plan.statement === statement)
    const all = sized.flatMap(of)
    const shape = shapesOf(of(smallest))
    return {
      of: all[0]?.of ?? '',
      statement,
      indexes: [...new Set(all.flatMap(({ indexes }) => indexes))],
      scanned: [...new Set(all.flatMap(({ wrongly }) => wrongly))],
      changesAt: larger.filter((one) => shapesOf(of(one)) !== shape).map(({ size }) => size),
    }
  })
}

function shapesOf(plans: readonly Plan[]): string {
  return plans.map(shapeOf).join('\n\n')
}
