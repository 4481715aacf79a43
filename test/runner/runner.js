// Jest's runner: runs test files in Node itself, without a realm of their own, in the processes of jest-worker.
import { fileURLToPath } from 'node:url'
import { createJestRunner } from 'create-jest-runner'

const Runner = createJestRunner(fileURLToPath(new URL('run-file.ts', import.meta.url)))

export default class extends Runner {
  /** Also a single file runs in a process of its own, which ends what the file left open. */
  runTests(...args) {
    const options = args.pop()
    return super.runTests(...args, { ...options, serial: false })
  }
}
