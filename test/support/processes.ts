// Starts real processes for a test file and kills those that still run at its end.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterAll } from '@jest/globals'
export type { ServiceProcess } from './start-script.ts'
import { startScript, type ScriptOptions, type ServiceProcess } from './start-script.ts'

const running = new Set<ChildProcess>()

afterAll(async () => {
  const ends = [...running].map((child) => once(child, 'exit'))
  for (const child of running) child.kill('SIGKILL')
  await Promise.all(ends)
})

/** Starts a script of the repository as `startScript` does, for this test file only. */
export function startProcess(script: string, options?: ScriptOptions): ServiceProcess {
  const { child, ...process } = startScript(script, options)
  running.add(child)
  child.once('exit', () => running.delete(child))
  return process
}
