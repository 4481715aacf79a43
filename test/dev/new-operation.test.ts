// Runs the generator of operations on a copy of the repository: the generated code compiles, is
// formatted, and passes the tests of every operation.
import { execFile } from 'node:child_process'
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = [
  'src',
  'dev',
  'workers',
  'test',
  'client',
  'drizzle',
  'package.json',
  'openapi.yaml',
]
const FILES = ['tsconfig.json', '.oxfmtrc.json', 'drizzle.config.ts']
const FOLDERS = ['cli', 'console', 'mcp', 'verify', 'bench', 'dependencies']

let folder: string

const execute = promisify(execFile)

const run = async (script: string, ...args: string[]) =>
  await execute('npm', ['run', '--silent', script, '--', ...args], { cwd: folder })

/** Without npm, which takes longer than the refusal. */
const generate = async (name: string) =>
  await execute(process.execPath, ['dev/new-operation/main.ts', name], { cwd: folder })

beforeAll(async () => {
  folder = join(await makeTemporaryFolder(), 'copy')
  for (const name of [...COPIED, ...FILES, ...FOLDERS]) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
})

describe('npm run new-operation', () => {
  test('writes an operation that is in openapi.yaml', async () => {
    const { stdout } = await run('new-operation', 'payment.release')

    expect(stdout).toContain('wrote   src/operations/release-payment/phases.ts')
    expect(stdout).toContain('What is left to do')
    const tests = await readdir(join(folder, 'test'), { recursive: true })
    const named = stdout.match(/(?<= )test\/[\w/-]+(?=[ \n])/g) ?? []
    expect(named.length).toBeGreaterThan(5)
    for (const name of named) {
      expect(tests.filter((file) => `test/${file}`.startsWith(name))).not.toEqual([])
    }
    expect(await readFile(join(folder, 'src/operations/index.ts'), 'utf8')).toContain(
      '  { operation: releasePayment, endpoint: releasePaymentEndpoint },\n',
    )
    expect(await readFile(join(folder, 'openapi.yaml'), 'utf8')).toContain(
      '/v1/payments/{id}/release:',
    )
  })

  test('what it wrote compiles and is formatted', async () => {
    const program = { extends: './tsconfig.json', include: ['src', 'client', 'test/operations'] }
    await writeFile(join(folder, 'tsconfig.written.json'), JSON.stringify(program))
    // In one thread it takes half the processor time: threads do not share what they checked.
    const tsc = ['node_modules/typescript-7/bin/tsc', '-p', 'tsconfig.written.json']
    await execute(process.execPath, [...tsc, '--singleThreaded'], { cwd: folder })
    await run('format:check', 'src', 'test/operations')
  })

  test('refuses to write it twice', async () => {
    await expect(generate('payment.release')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is there already') as unknown,
    })
  })

  test.each(['release', 'refund.create', 'payment.Release', 'payment.', '../payment.x'])(
    'refuses the name %s',
    async (name) => {
      await expect(generate(name)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringContaining('is not payment.<verb>') as unknown,
      })
    },
  )
})
