// What each jest worker keeps for its test files, whose own modules end with the file.
import type { findUndocumented } from './find-undocumented.ts'
import type { startWorkerService } from './worker-service.ts'

interface JestWorker {
  readonly findUndocumented: typeof findUndocumented
  readonly startWorkerService: typeof startWorkerService
  /** Removed after all hooks of the test file. */
  readonly temporaryFolders: string[]
}

/** Set by the test environment. */
export const { jestWorker } = globalThis as unknown as { jestWorker: JestWorker }
