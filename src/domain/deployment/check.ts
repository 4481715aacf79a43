// The result of one check of a deployment.

/** A `failure` breaks a guarantee of the service, or keeps it from working. */
type Verdict = 'ok' | 'warning' | 'failure'

export interface Check {
  readonly name: string
  readonly verdict: Verdict
  /** What was found. No secret is part of it. */
  readonly found: string
  /** What to do, unless the verdict is `ok`. */
  readonly advice?: string
}

export const ok = (name: string, found: string): Check => ({ name, verdict: 'ok', found })

export const warning = (name: string, found: string, advice: string): Check => ({
  name,
  verdict: 'warning',
  found,
  advice,
})

export const failure = (name: string, found: string, advice: string): Check => ({
  name,
  verdict: 'failure',
  found,
  advice,
})
