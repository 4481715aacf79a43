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
    env: { ...process.env, TESTS: 'npm' },
  })

/** Without npm, which takes longer than the refusal. */
const generate = async (...args: string[]) =>
  await execute(process.execPath, ['dev/new-operation/main.ts', ...args], { cwd: folder })

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

  test('takes a name with a hyphen, keeps the status and announces an event', async () => {
    await run('new-operation', 'payment.send-receipt', '--keeps-status', 'payment.receipted')

    expect(await readFile(join(folder, 'src/operations/index.ts'), 'utf8')).toContain(
      '  { operation: sendReceiptPayment, endpoint: sendReceiptPaymentEndpoint },\n',
    )
    const written = await readFile(join(folder, 'openapi.yaml'), 'utf8')
    expect(written).toContain('/v1/payments/{id}/send-receipt:')
    expect(written).toContain(' payment.receipted,')
  })

  test('the operation that keeps the status passes the tests of every operation', async () => {
    // Without the programs of other tests, which would be built again for the copy.
    await writeFile(
      join(folder, 'written-setup.ts'),
      `export { startPostgresCluster as default } from './test/support/postgres-cluster.ts'\n`,
    )
    const config = `import config from './jest.config.js'
      export default { ...config, globalSetup: './written-setup.ts' }`
    await writeFile(join(folder, 'written.config.js'), config)
    const named = ['test/operations/every-operation.test.ts', '-t', '^payment.send-receipt ']

    // Jest reports on the standard error.
    const { stderr } = await run('test', ...named, '--config', 'written.config.js')

    expect(stderr).toMatch(/Tests: .* [1-9]\d* passed/)
  })

  test('what it wrote compiles, is formatted and has no finding of the linter', async () => {
    const program = { extends: './tsconfig.json', include: ['src', 'client', 'test/operations'] }
    await writeFile(join(folder, 'tsconfig.written.json'), JSON.stringify(program))
    // In one thread it takes half the processor time: threads do not share what they checked.
    const tsc = ['node_modules/typescript-7/bin/tsc', '-p', 'tsconfig.written.json']
    await execute(process.execPath, [...tsc, '--singleThreaded'], { cwd: folder })
    await run('format:check', 'src', 'test/operations')
    await run('lint', 'src/operations', 'src/domain/events', 'test/operations')
  })

  test('refuses to write it twice', async () => {
    await expect(generate('payment.release')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is there already') as unknown,
    })
  })

  test.each([
    ['payment.succeeded', 'is there already'],
    ['payment.receipted', 'is there already'],
    ['refund.flagged', 'is not payment.<event>'],
    ['payment.flag-ged', 'is not payment.<event>'],
  ])('refuses the event %s', async (event, reason) => {
    await expect(generate('payment.mark', '--keeps-status', event)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining(reason) as unknown,
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
  ])('refuses the name %s', async (name) => {
    await expect(generate(name)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not payment.<verb>') as unknown,
    })
  })
})
