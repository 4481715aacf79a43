// Runs one test file in this process. What is loaded of the tests is loaded anew for each file, because it
// registers hooks and keeps state. The product, the packages, and what `support/worker` keeps for all files are
// loaded once: with a realm for each file, as jest has it, that was most of the work of a test file.
import { rm } from 'node:fs/promises'
import { enableCompileCache, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { createEmptyTestResult, type TestResult } from '@jest/test-result'
import type { RunTestOptions } from 'create-jest-runner'
import { getState, resetState, run, setState } from 'jest-circus'
import { temporaryFolders } from '../support/worker/temporary-folders.ts'
import { jest } from './jest-globals.ts'

enableCompileCache()

const urlOf = (path: string) => new URL(path, import.meta.url).href
const TESTS = urlOf('..')
const EXTRAS = urlOf('../../extras/')
const OF_WORKER = urlOf('../support/worker/')
const JEST_GLOBALS = urlOf('jest-globals.ts')
/** Marks the URL of a module with the number of its test file. */
const MARK = '?file='

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return { url: JEST_GLOBALS, shortCircuit: true }
    const resolved = next(specifier, context)
    const { url } = resolved
    const file = context.parentURL?.split(MARK)[1]
    return file !== undefined && isTest(url)
      ? { ...resolved, url: `${url}${MARK}${file}` }
      : resolved
  },
})

function isTest(url: string): boolean {
  if (url.startsWith(EXTRAS)) return url.slice(EXTRAS.length).split('/')[1] === 'test'
  return url.startsWith(TESTS) && !url.startsWith(OF_WORKER)
}

let files = 0

/** Jest calls it for each test file, for one after the other. */
export default async function runFile(options: RunTestOptions): Promise<TestResult> {
  const { testPath, config, globalConfig } = options
  const { testTimeout = 5_000, testNamePattern } = globalConfig
  const environment = { ...process.env }
  const startMs = Date.now()
  const unhandled: string[] = []
  const note = (error: unknown) => unhandled.push(textOf(error))
  process.on('uncaughtException', note).on('unhandledRejection', note)
  files += 1
  const load = (path: string) => import(`${pathToFileURL(path).href}${MARK}${files}`)
  try {
    resetState()
    const pattern = testNamePattern ? new RegExp(testNamePattern, 'i') : null
    setState({ ...getState(), testTimeout, testNamePattern: pattern })
    for (const path of [...config.setupFiles, testPath]) await load(path)
    const { testResults, unhandledErrors } = await run()
    return resultOf(testPath, startMs, testResults, [...unhandledErrors, ...unhandled])
  } finally {
    process.off('uncaughtException', note).off('unhandledRejection', note)
    jest.useRealTimers()
    jest.restoreAllMocks()
    for (const name of Object.keys(process.env))
      if (!(name in environment)) delete process.env[name]
    Object.assign(process.env, environment)
    const folders = temporaryFolders.splice(0)
    await Promise.all(folders.map((path) => rm(path, { recursive: true, force: true })))
  }
}

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

type Tests = Awaited<ReturnType<typeof run>>['testResults']

/** @param errors of no test: they fail the file. */
function resultOf(
  testFilePath: string,
  startMs: number,
  tests: Tests,
  errors: readonly string[],
): TestResult {
  const testResults = tests.map(assertionOf)
  const failed = testResults.filter(({ status }) => status === 'failed')
  const countOf = (...statuses: string[]) =>
    testResults.filter(({ status }) => statuses.includes(status)).length
  const result = createEmptyTestResult()
  const endMs = Date.now()
  const perfStats = { ...result.perfStats, start: startMs, end: endMs, runtime: endMs - startMs }
  const [message] = errors
  return {
    ...result,
    testFilePath,
    testResults,
    perfStats,
    numPassingTests: countOf('passed'),
    numFailingTests: failed.length,
    numPendingTests: countOf('pending'),
    numTodoTests: countOf('todo'),
    failureMessage: [...failed.map(describeFailure), ...errors].join('\n') || null,
    ...(message !== undefined && { testExecError: { message, stack: errors.join('\n') } }),
  } as TestResult
}

function assertionOf({ testPath: [, ...names], errors, status, ...rest }: Tests[number]) {
  return {
    ...rest,
    ancestorTitles: names.slice(0, -1),
    title: names.at(-1) ?? '',
    fullName: names.join(' '),
    status:
      errors.length > 0
        ? 'failed'
        : status === 'skip'
          ? 'pending'
          : status === 'todo'
            ? 'todo'
            : 'passed',
    failureMessages: errors,
    failureDetails: [],
  }
}

function describeFailure({ fullName, failureMessages }: ReturnType<typeof assertionOf>): string {
  return `  ● ${fullName}\n\n${failureMessages.join('\n').replace(/^/gm, '    ')}\n`
}
