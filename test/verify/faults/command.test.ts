// The command line of `npm run faults`, where it needs no environment.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

test('--list shows the names that the options take', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['verify/faults/main.ts', '--list'],
    { cwd: ROOT },
  )

  for (const title of ['scenarios', 'faults', 'providers', 'mutants']) {
    expect(stdout).toMatch(new RegExp(`^${title}\n  \\S+$`, 'm'))
  }
  expect(stdout).toContain('\n  payment.create\n')
})
