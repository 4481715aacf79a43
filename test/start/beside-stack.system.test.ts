// The commands of an operator beside a running `npm start`, without a setting of their own: they find its
// database, provider, keys and port in its data folder.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { compileCache, programOf } from '../support/programs.ts'
import { startStack, type RunningStack } from '../support/stack.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { postPayment } from '../support/client.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

let stack: RunningStack
let folder: string

beforeAll(async () => {
  stack = await startStack(await makeTemporaryFolder(), { ENCRYPTION_KEYS: '' })
  folder = join(stack.folder, 'data')
  expect((await postPayment(stack.url, stack.tenant)).status).toBe(201)
})

afterAll(async () => {
  stack.launcher.kill('SIGKILL')
  await stack.launcher.exited
})

/** Runs a command as its npm script does, with DATA_DIR alone. */
async function run(script: string, args: string[], settings: Record<string, string> = {}) {
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: compileCache(),
    DATA_DIR: folder,
    ...settings,
  }
  return await new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      [programOf(script), ...args],
      { cwd: ROOT, env },
      (_, out, err) => resolve({ code: child.exitCode ?? -1, stdout: out, stderr: err }),
    )
  })
}

describe('while it runs', () => {
  test('tenants lists its tenant', async () => {
    const { code, stdout, stderr } = await run('src/start/tenants.ts', ['list'])

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/tnt_\w+/)
  })

  test('doctor reaches its database and its provider', async () => {
    const { stdout } = await run('src/start/doctor.ts', ['--json'])

    const checks = JSON.parse(stdout) as { name: string; verdict: string; found: string }[]
    const found = (name: string) => checks.find((check) => check.name === name)
    expect(found('migrations')).toMatchObject({ verdict: 'ok' })
    expect(JSON.stringify(checks)).not.toContain('is not set')
    expect(JSON.stringify(checks)).not.toContain('ECONNREFUSED')
  })

  test('reconcile compares with its stand-in', async () => {
    const { code, stdout, stderr } = await run('src/start/reconcile.ts', [])

    expect(stderr).not.toContain('reconcile:')
    expect(code).toBe(0)
    expect(stdout).toContain('No open findings.')
  })

  test('atomic finds its port and its key', async () => {
    const { code, stdout } = await run('cli/main.ts', ['unknown'])

    expect({ code, stdout }).toEqual({ code: 0, stdout: '0 with an unknown outcome\n' })
  })

  test('another database of the environment is not mixed with it', async () => {
    const DATABASE_URL = 'postgres://nothing@127.0.0.1:9/none'
    const { code, stderr } = await run('src/start/tenants.ts', ['list'], { DATABASE_URL })

    expect(code).toBe(1)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })
})

test.each([
  ['tenants', 'src/start/tenants.ts', ['list']],
  ['reconcile', 'src/start/reconcile.ts', []],
  ['doctor', 'src/start/doctor.ts', []],
])('after a crash of it, %s says in one line what is missing', async (_, script, args) => {
  stack.launcher.kill('SIGKILL')
  await stack.launcher.exited

  const { code, stdout, stderr } = await run(script, args)

  expect(code).toBeGreaterThan(0)
  const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('DATABASE_URL'))
  expect(said).toHaveLength(1)
  expect(`${stdout}${stderr}`).toContain('npm start')
})
