// Defines a task: one part of a run that a child process can do. Spaces and mutants are passed by
// name, because they cannot be sent between processes.
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

/** The result of a task, as text for the report. */
export interface Verdict {
  readonly task: string
  readonly passed: boolean
  /** One line: what was checked, and the result. */
  readonly summary: string
  /** The reasons for a failure, line by line. */
  readonly details: readonly string[]
  readonly states: number
  readonly transitions: number
}

/** Message from the child process to its parent. */
export type TaskMessage =
  | { readonly progress: string }
  | { readonly verdict: Verdict }
  | { readonly failure: string }

export function nameOfTask(task: Task): string {
  return task.kind === 'histories' ? 'histories on PostgreSQL' : `${task.kind} ${task.name}`
}

export function findByName<Named extends { readonly name: string }>(
  all: readonly Named[],
  name: string,
): Named {
  const found = all.find((one) => one.name === name)
  if (found === undefined) throw new UsageError(`unknown name ${name}`)
  return found
}
