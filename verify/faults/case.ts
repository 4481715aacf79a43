// The label of a run: one line that names a scenario and the faults injected at its points. Every
// result is printed with its label, and `--case <label>` repeats the run.

/**
 * `<scenario>`, or `<scenario>:<fault>@<point>`, with another `+<fault>@<point>` for each further
 * fault. A provider other than the usual one follows the scenario: `<scenario>~<provider>`.
 */
export type Label = string

export interface Injection {
  /** A name in the table of faults. */
  readonly fault: string
  /** The label of the point, for example `worker/advance/CommandComplete#1/before`. */
  readonly point: string
}

export interface Case {
  /** A name in the table of scenarios. */
  readonly scenario: string
  /** A name in the table of providers; by default the idempotent one. */
  readonly provider?: string
  /** In order: each is armed when the one before was injected. Without any, points are counted. */
  readonly injections: readonly Injection[]
}

/** The scenario behind a pooler. */
export const POOLED = 'payment.create.pooled'

/** The scenario on a primary with a standby. */
export const REPLICATED = 'payment.create.replicated'

/** The scenarios with copies of answers in Redis. */
export const COPIED = ['payment.create.copied', 'payment.create.withdrawn'] as const

/** The scenario with a webhook endpoint. */
export const ANNOUNCED = 'payment.create.announced'

/** The scenarios of a payment that may move to a second provider: it need not, and it has to. */
export const ROUTED = ['payment.create.routed', 'payment.create.moved'] as const

const CONCURRENT: readonly string[] = ['payment.create.together', 'payment.capture.together']

/** Whether the scenario has several operations in progress at a time. */
export function isConcurrent(scenario: string): boolean {
  return CONCURRENT.includes(scenario)
}

export function labelOf({ scenario, provider, injections }: Case): Label {
  const subject = provider === undefined ? scenario : `${scenario}~${provider}`
  if (injections.length === 0) return subject
  return `${subject}:${injections.map(({ fault, point }) => `${fault}@${point}`).join('+')}`
}

/** @throws Error when the text is not a label. */
export function readLabel(label: Label): Case {
  const [, scenario, provider, texts] = /^([^:~]+)(?:~([^:]+))?(?::(.+))?$/.exec(label) ?? []
  if (scenario === undefined) throw new Error(`"${label}" is not a run label`)
  const injections = (texts?.split('+') ?? []).map((text) => readInjection(text, label))
  return provider === undefined ? { scenario, injections } : { scenario, provider, injections }
}

function readInjection(text: string, label: Label): Injection {
  const [, fault, point] = /^([^@]+)@([^@]+)$/.exec(text) ?? []
  if (fault === undefined || point === undefined) {
    throw new Error(`"${label}" is not a run label: "${text}" is not <fault>@<point>`)
  }
  return { fault, point }
}
