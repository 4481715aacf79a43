// Records scrapes of real processes as Prometheus stores them: a series for each sample, with `up`
// for each target, and a mark where a series ends.
import type { ServiceProcess } from '../support/processes.ts'
import { scrape, type Exposition } from '../metrics/exposition.ts'

export type Labels = Readonly<Record<string, string>>

/** A series in the notation of `promtool test rules`, with one value for each scrape. */
export interface Series {
  readonly series: string
  readonly values: string
}

export interface Target {
  readonly job: 'atomic-payments-api' | 'atomic-payments-worker'
  readonly process: ServiceProcess
}

/** A series has no sample, and ends: Prometheus does not wait five minutes until it is gone. */
const ABSENT = '_'
const ENDS = 'stale'

/** Prometheus waits as long by default. Only a frozen process needs it. */
const SCRAPE_TIMEOUT_MS = 10_000

export class Recording {
  minutes = 0
  readonly #metrics: ReadonlySet<string>
  readonly #values = new Map<string, string[]>()

  /** @param metrics the names of the series to keep, besides `up`. */
  constructor(metrics: ReadonlySet<string>) {
    this.#metrics = metrics
  }

  /**
   * Scrapes the targets once. One that is not among them any more is not looked for.
   *
   * @param minutes for how many minutes the answers stand, because nothing happens in them.
   */
  async scrape(targets: readonly Target[], minutes = 1): Promise<void> {
    const found = new Map<string, number>()
    for (const { job, process } of targets) {
      const own = { job, instance: `${process.pid}` }
      const exposition = await scrapeProcess(process).catch(() => undefined)
      found.set(nameOf('up', own), exposition === undefined ? 0 : 1)
      for (const { name, labels, value } of exposition?.samples ?? []) {
        if (this.#metrics.has(name)) found.set(nameOf(name, { ...labels, ...own }), value)
      }
    }
    for (let minute = 0; minute < minutes; minute += 1) this.#addMinute(found)
  }

  #addMinute(found: ReadonlyMap<string, number>): void {
    for (const [name, value] of found) this.#add(name, String(value))
    for (const [name, values] of this.#values) {
      if (!found.has(name)) this.#add(name, isSample(values.at(-1)) ? ENDS : ABSENT)
    }
    this.minutes += 1
  }

  /** Forgets what was before the last minutes. */
  keep(minutes: number): void {
    this.minutes = minutes
    for (const [name, values] of this.#values) {
      values.splice(0, values.length - minutes)
      if (!values.some(isSample)) this.#values.delete(name)
    }
  }

  series(): Series[] {
    return [...this.#values].map(([series, values]) => ({ series, values: values.join(' ') }))
  }

  #add(name: string, value: string): void {
    const values = this.#values.get(name) ?? Array.from({ length: this.minutes }, () => ABSENT)
    values.push(value)
    this.#values.set(name, values)
  }
}

function isSample(value: string | undefined): boolean {
  return value !== ABSENT && value !== ENDS
}

function nameOf(metric: string, labels: Labels): string {
  const shown = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return `${metric}{${shown.join(',')}}`
}

/** @throws Error when the process does not answer. */
export async function scrapeProcess(process: ServiceProcess): Promise<Exposition> {
  const line = await process.waitForLine((candidate) => candidate.includes('metrics at '))
  const url = /metrics at ([^"\s]+)/.exec(line)?.[1] ?? ''
  return await scrape(url, AbortSignal.timeout(SCRAPE_TIMEOUT_MS))
}
