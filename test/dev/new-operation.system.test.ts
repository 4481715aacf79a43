// Runs the generator of operations on a copy of the repository: the generated code compiles, is
// formatted, and passes the tests of every operation.
import { execFile } from 'node:child_process'
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { NameError, namesOf, newEvent } from '../../dev/new-operation/names.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = [
  'src',
  'dev',
  'workers',
  'extras',
  'test',
  'client',
  'drizzle',
  'package.json',
  'openapi.yaml',
  'openapi-operators.yaml',
]
const FILES = [
  'tsconfig.json',
  'jest.config.js',
  '.oxlintrc.json',
  '.oxfmtrc.json',
  'drizzle.config.ts',
]
const FOLDERS = ['cli', 'console', 'mcp', 'verify', 'bench', 'dependencies']

let folder: string

const execute = promisify(execFile)

const run = async (script: string, ...args: string[]) =>
  await execute('npm', ['run', '--silent', script, '--', ...args], {
    cwd: folder,
    // In one thread the linter takes less processor time: threads do not share what they checked.
    env: { ...process.env, TESTS: 'npm', GOMAXPROCS: '1' },
  })

/** Without npm, which takes longer than the refusal. */
const generate = async (...args: string[]) =>
  await execute(process.execPath, ['dev/new-operation/main.ts', ...args], { cwd: folder })

/** The sources that the generator has written and changed, as it said. */
const written = new Set<string>()

function note(stdout: string): void {
  for (const [, path = ''] of stdout.matchAll(/^(?:wrote|changed) +((?:src|test)\/\S+)$/gm))
    written.add(path)
}

/** The sources that import the lists to which the generator adds. */
async function usersOfLists(): Promise<string[]> {
  const users: string[] = []
  for (const part of ['src', 'test/operations']) {
    const names = await readdir(join(folder, part), { recursive: true })
    for (const path of names.filter((name) => name.endsWith('.ts'))) {
      const text = await readFile(join(folder, part, path), 'utf8')
      if (/from '.*(operations\/index|event-types)\.ts'/.test(text)) users.push(`${part}/${path}`)
    }
  }
  expect(users).toContain('src/http/server/routes.ts')
  return users
}

beforeAll(async () => {
  folder = join(await makeTemporaryFolder(), 'copy')
  for (const name of [...COPIED, ...FILES, ...FOLDERS]) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
})

describe('npm run new-operation', () => {
  test('writes an operation', async () => {
    // The test below writes the documents of both operations, which takes seconds.
    const scripts = await readFile(join(folder, 'package.json'), 'utf8')
    const without = JSON.parse(scripts) as { scripts: Record<string, string> }
    without.scripts['openapi'] = 'true'
    await writeFile(join(folder, 'package.json'), JSON.stringify(without))

    const { stdout } = await generate('payment.release')
    note(stdout)
    await writeFile(join(folder, 'package.json'), scripts)

    expect(stdout).toContain('wrote   src/operations/release-payment/phases.ts')
    expect(stdout).toContain('What is left to do')
    const tests = await readdir(join(folder, 'test'), { recursive: true })
    const named = stdout.match(/(?<= )test\/[\w/-]+(?=[ \n])/g) ?? []
    expect(named.length).toBeGreaterThan(5)
    for (const name of named) {
      expect(tests.filter((file) => `test/${file}`.startsWith(name))).not.toEqual([])
    }
    expect(await readFile(join(folder, 'src/operations/index.ts'), 'utf8')).toContain(
      '  releasePaymentEndpoint,\n',
    )
  })

  test('takes a name with a hyphen, keeps the status, announces an event and writes openapi.yaml', async () => {
    const { stdout } = await run(
      'new-operation',
      'payment.send-receipt',
      '--keeps-status',
      'payment.receipted',
    )
    note(stdout)

    expect(await readFile(join(folder, 'src/operations/index.ts'), 'utf8')).toContain(
      '  sendReceiptPaymentEndpoint,\n',
    )
    for (const path of ['openapi.yaml', 'openapi-operators.yaml', 'client/schema.ts']) {
      expect(stdout).toContain(`changed ${path}\n`)
    }
    const document = await readFile(join(folder, 'openapi.yaml'), 'utf8')
    expect(document).toContain('/v1/payments/{id}/release:')
    expect(document).toContain('/v1/payments/{id}/send-receipt:')
    expect(document).toContain(' payment.receipted,')
  })

  test('the operation that keeps the status passes the tests of every operation', async () => {
    // It uses the PostgreSQL of this run.
    const config = `import config from './jest.config.js'
      export default { ...config, globalSetup: undefined, globalTeardown: undefined }`
    await writeFile(join(folder, 'written.config.js'), config)
    const named = ['test/operations/every-operation.test.ts', '-t', '^payment.send-receipt ']

    // Jest reports on the standard error.
    const { stderr } = await run('test', ...named, '--config', 'written.config.js')

    expect(stderr).toMatch(/Tests: .* [1-9]\d* passed/)
  })

  test('what it wrote compiles, also where it is used, is formatted and has no finding of the linter', async () => {
    // The linter reports what does not compile, too. Nothing else imports these files.
    const tsconfig = join(folder, 'tsconfig.json')
    const { compilerOptions } = JSON.parse(await readFile(tsconfig, 'utf8')) as object & {
      compilerOptions: object
    }
    const include = ['src', 'test/operations']
    await writeFile(tsconfig, JSON.stringify({ compilerOptions, include }))
    await run('format:check', ...written)
    expect(written.size).toBeGreaterThan(7)
    await run('lint', '--type-check', ...written, ...(await usersOfLists()))
  })

  test('refuses to write it twice', async () => {
    await expect(generate('payment.release')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is there already') as unknown,
    })
  })

  test.each([
    ['payment.succeeded', 'is there already'],
    ['refund.flagged', 'is not payment.<event>'],
    ['payment.flag-ged', 'is not payment.<event>'],
  ])('refuses the event %s', (event, reason) => {
    expect(() => newEvent(event)).toThrow(NameError)
    expect(() => newEvent(event)).toThrow(reason)
  })

  test('refuses an event that it has added, and says how it is used', async () => {
    await expect(
      generate('payment.mark', '--keeps-status', 'payment.receipted'),
    ).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is there already[^]*Usage: npm run new-operation/) as unknown,
    })
  })

  test('refuses an option that it does not know', async () => {
    await expect(generate('payment.mark', '--keep-status')).rejects.toMatchObject({ code: 2 })
  })

  test.each([
    'release',
    'refund.create',
    'payment.Release',
    'payment.',
    'payment.a--b',
    'payment.-a',
    '../payment.x',
  ])('refuses the name %s', (name) => {
    expect(() => namesOf(name)).toThrow(NameError)
    expect(() => namesOf(name)).toThrow('is not payment.<verb>')
  })
})
