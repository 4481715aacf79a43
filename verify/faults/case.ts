// One run, named by a line: a scenario, and what strikes it at which points. The line is printed with
// every result, and `--case` takes it back.

/**
 * `<scenario>`, or `<scenario>:<fault>@<point>`, with one more `+<fault>@<point>` for each further strike. A
 * provider that is not the usual one follows its scenario: `<scenario>~<provider>`.
 */
export type Label = string

export interface Strike {
  /** A name in the table of faults. */
  readonly fault: string
  /** The label of the point, such as `worker/advance/CommandComplete#1/before`. */
  readonly point: string
}

export interface Case {
  /** A name in the table of scenarios. */
  readonly scenario: string
  /** A name in the table of providers; left out: the idempotent one. */
  readonly provider?: string
  /** In the order in which they are armed: each when the one before has struck. None: points are counted. */
  readonly strikes: readonly Strike[]
}

export function labelOf({ scenario, provider, strikes }: Case): Label {
  const subject = provider === undefined ? scenario : `${scenario}~${provider}`
  if (strikes.length === 0) return subject
  return `${subject}:${strikes.map(({ fault, point }) => `${fault}@${point}`).join('+')}`
}

/** @throws Error when the line is not one that `labelOf` makes. */
export function readLabel(label: Label): Case {
  const [, scenario, provider, texts] = /^([^:~]+)(?:~([^:]+))?(?::(.+))?$/.exec(label) ?? []
  if (scenario === undefined) throw new Error(`"${label}" names no case`)
  const strikes = (texts?.split('+') ?? []).map((text) => readStrike(text, label))
  return provider === undefined ? { scenario, strikes } : { scenario, provider, strikes }
}

function readStrike(text: string, label: Label): Strike {
  const [, fault, point] = /^([^@]+)@([^@]+)$/.exec(text) ?? []
  if (fault === undefined || point === undefined) {
    throw new Error(`"${label}" names no case: "${text}" is not <fault>@<point>`)
  }
  return { fault, point }
}
