// One part of what the command does, which another process can do: it is named, and not handed over.
import { UsageError } from '../../../bench/options.ts'

export type Task =
  | { readonly kind: 'space'; readonly name: string }
  | { readonly kind: 'mutant'; readonly name: string }
  | {
      readonly kind: 'histories'
      readonly url: string
      readonly seed: number
      readonly count: number
    }
  | { readonly kind: 'replay'; readonly url: string; readonly paths: number }

/** What came of a task, in words. */
export interface Verdict {
  readonly task: string
  readonly passed: boolean
  /** One line that says what was done and found. */
  readonly summary: string
  /** Of what failed: how, line by line. */
  readonly details: readonly string[]
  readonly states: number
  readonly transitions: number
}

/** From the process that does a task to the one that has asked for it. */
export type TaskMessage =
  | { readonly progress: string }
  | { readonly verdict: Verdict }
  | { readonly failure: string }

export function nameOfTask(task: Task): string {
  if (task.kind === 'space' || task.kind === 'mutant') return `${task.kind} ${task.name}`
  return task.kind === 'histories' ? 'histories on PostgreSQL' : 'paths on PostgreSQL'
}

export function findByName<Named extends { readonly name: string }>(
  all: readonly Named[],
  name: string,
): Named {
  const found = all.find((one) => one.name === name)
  if (found === undefined) throw new UsageError(`nothing is called ${name}`)
  return found
}
