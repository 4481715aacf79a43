// The client as a package: the quick start of its README in a project of its own, which has the archive
// of `npm pack`, TypeScript's strict mode for ES2022, and nothing of this repository.
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from '@jest/globals'
import ts from 'typescript'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { respond, startServiceDouble } from './service-double.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGE = 'atomic-payments-client'

/** What the README leaves to its reader. */
const GIVEN = `
export const order: { idempotencyKey?: string } = {}
export const orders = { save: async (_: typeof order) => {} }
export const idempotencyKey = 'order-1'
export const body = { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }
`

let project: string

const run = promisify(execFile)

beforeAll(async () => {
  const source = await makeTemporaryFolder()
  await cp(join(ROOT, 'client'), join(source, 'client'), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  await run('npm', ['pack', '--pack-destination', source], { cwd: join(source, 'client') })

  project = await makeTemporaryFolder()
  const packages = join(project, 'node_modules')
  await mkdir(packages)
  const { version } = JSON.parse(await readFile(join(ROOT, 'client/package.json'), 'utf8')) as {
    version: string
  }
  await run('tar', ['-xzf', join(source, `${PACKAGE}-${version}.tgz`), '-C', packages])
  await cp(join(packages, 'package'), join(packages, PACKAGE), { recursive: true })
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers']) {
    await cp(join(ROOT, 'node_modules', name), join(packages, name), { recursive: true })
  }
  await write('package.json', JSON.stringify({ type: 'module' }))
  await write('given.ts', GIVEN)
  const [quickStart = '', errors = ''] = await snippets()
  const given = "import { body, idempotencyKey, order, orders } from './given.js'\n"
  await write('quick-start.ts', `${given}${quickStart}export { payment }\n`)
  await write('errors.ts', `import { client } from './client.js'\n${given}${errors}`)
  await write('client.ts', clientOf(quickStart))
})

const write = async (name: string, text: string) => await writeFile(join(project, name), text)

/** The blocks of TypeScript in the README of the package, in order. */
async function snippets(): Promise<string[]> {
  const readme = await readFile(join(project, 'node_modules', PACKAGE, 'README.md'), 'utf8')
  return [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, code = '']) => code)
}

/** The lines of the quick start that make the client, which the later block uses. */
const clientOf = (quickStart: string): string =>
  quickStart
    .split('\n')
    .filter((line) => line.includes('createClient'))
    .join('\n')
    .replace('const client', 'export const client')

/** The declarations of the language, which are read once. */
const libraries = new Map<string, ts.SourceFile | undefined>()
/** The declarations of the language itself need no check, which takes most of the time. */
const NOT_CHECKED = { skipDefaultLibCheck: true }
const LIBRARIES = dirname(ts.getDefaultLibFilePath({}))

/** What the compiler says about the project. It also writes the compiled code. */
async function compile(options: object): Promise<string> {
  const file = await configure(options)
  const parsed = ts.getParsedCommandLineOfConfigFile(file, NOT_CHECKED, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
      throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'))
    },
  })
  if (parsed === undefined) throw new Error('there is no tsconfig.json')
  const host = ts.createCompilerHost(parsed.options)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (name, ...rest) => {
    if (dirname(name) !== LIBRARIES) return read(name, ...rest)
    if (!libraries.has(name)) libraries.set(name, read(name, ...rest))
    return libraries.get(name)
  }
  const program = ts.createProgram(parsed.fileNames, parsed.options, host)
  const found = [...parsed.errors, ...ts.getPreEmitDiagnostics(program)]
  const { diagnostics } = program.emit()
  return ts.formatDiagnostics([...found, ...diagnostics], host)
}

async function configure(options: object): Promise<string> {
  const compilerOptions = { strict: true, target: 'ES2022', ...options }
  await write('tsconfig.json', JSON.stringify({ compilerOptions }))
  return join(project, 'tsconfig.json')
}

test.each([
  { module: 'ESNext', moduleResolution: 'bundler' },
  { module: 'NodeNext', lib: ['ES2022', 'DOM'], exactOptionalPropertyTypes: true },
])('TypeScript compiles the README with %j', async (options) => {
  expect(await compile(options)).toBe('')
})

test('TypeScript 7 compiles the README', async () => {
  await configure({ module: 'NodeNext', noEmit: true })
  const tsc = join(ROOT, 'node_modules/typescript-7/bin/tsc')

  const { stdout } = await run(process.execPath, [tsc, '--singleThreaded'], { cwd: project })

  expect(stdout).toBe('')
})

test('TypeScript compiles the quick start, which pays', async () => {
  const payment = { id: 'pay_1', object: 'payment', status: 'succeeded' }
  const double = await startServiceDouble(respond(201, payment))
  expect(await compile({ module: 'NodeNext' })).toBe('')
  const file = join(project, 'quick-start.js')
  const code = await readFile(file, 'utf8')
  await writeFile(file, code.replace('http://127.0.0.1:3000', double.url))

  const printed = await run(process.execPath, [
    '--input-type=module',
    '--eval',
    `console.log(JSON.stringify((await import('${pathToFileURL(file).href}')).payment))`,
  ])
  await double.stop()

  expect(JSON.parse(printed.stdout)).toEqual(payment)
  expect(double.received).toMatchObject([{ method: 'POST', key: expect.any(String) }])
})
