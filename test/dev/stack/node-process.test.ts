import { expect, test } from '@jest/globals'
import { startNodeProcess } from '../../../dev/stack/node-process.ts'

const STUBBORN = 'test/dev/stack/fixtures/stubborn-process.ts'
const FAILING = 'test/dev/stack/fixtures/failing-process.ts'

function start(script: string, stopLimitMs = 60_000) {
  const lines: string[] = []
  const part = startNodeProcess({
    script,
    settings: {},
    stopLimitMs,
    log: (line) => lines.push(line),
  })
  return { part, lines }
}

test('is ready when the process reports it, and logs the output', async () => {
  const { part, lines } = start(STUBBORN)
  await part.ready
  part.kill()
  expect(await part.ended).toBe('ended by SIGKILL')
  expect(lines).toEqual([expect.stringMatching(/^started as process \d+$/), 'working'])
})

test('kills a process that does not stop within the limit', async () => {
  const { part } = start(STUBBORN, 50)
  await part.ready
  part.stop()
  expect(await part.ended).toBe('ended by SIGKILL')
})

test('rejects `ready` with the exit status when the process ends early', async () => {
  const { part } = start(FAILING)
  await expect(part.ready).rejects.toThrow(`${FAILING} ended with status 3 before it was ready`)
})
