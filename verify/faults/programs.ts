// Bundles each program of the product with its imports into a few files. A bundle loads in less
// than half the time of its thousand source files, and loading its successor is most of what a
// killed process costs.
import { readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { secondProvider } from './extras.ts'

/** Replacement texts for files of the product, by path. */
export type Changes = ReadonlyMap<string, string>

export interface ProgramsOptions {
  /** The root of the product. */
  readonly root: string
  /**
   * What each program is built from, by the program's name: the path of its script, the name of a
   * package, or the result of `standbyOf`.
   */
  readonly scripts: Readonly<Record<string, string>>
  readonly changes?: Changes | undefined
  /** Where the programs are written. */
  readonly folder: string
}

/** The esbuild namespace of the generated standby modules. */
const STANDBY_NAMESPACE = 'standing-by'
const STAND_BY = fileURLToPath(new URL('stand-by.ts', import.meta.url))

const VALUE_IMPORT = /^import\s(?!type\b)[^'"]*?from\s+'([^']+)'/gm

/** The default entry of this package cannot be bundled; this one can. */
const ENTRY_ALIASES = { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' }

/** For packages that are not ES modules. */
const REQUIRE = `const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)`

/**
 * A program that loads the imports of the script and what the script loads on demand, reports standby and
 * runs the script on request.
 */
export function standbyOf(script: string, onDemand: readonly string[] = []): string {
  return `${STANDBY_NAMESPACE}:${[script, ...onDemand].join('+')}`
}

const STRIPE = ['src/provider/stripe/stripe-provider.ts', 'src/provider/stripe/webhooks.ts']

export const SECOND_STAND_IN = 'second-stand-in'

/** The programs of the fault suite, by role. */
export const PROGRAMS_UNDER_TEST = {
  api: standbyOf('src/start/api.ts', STRIPE),
  worker: standbyOf('workers/main.ts', STRIPE),
  'mock-provider': 'dev/stripe-stand-in/main.ts',
  ...(secondProvider && { [SECOND_STAND_IN]: secondProvider.standIn.script }),
}

/**
 * Writes `<name>.mjs` for each script.
 *
 * @throws Error when a script or one of its imports does not compile.
 */
export async function buildPrograms(options: ProgramsOptions): Promise<void> {
  const { root, scripts, folder } = options
  await build({
    entryPoints: scripts,
    absWorkingDir: root,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // Modules that are imported on demand stay separate files.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    banner: { js: REQUIRE },
    alias: ENTRY_ALIASES,
    logLevel: 'silent',
    plugins: [productAt(options)],
  })
}

export function programIn(folder: string, name: string): string {
  return join(folder, `${name}.mjs`)
}

function productAt({ root, changes }: ProgramsOptions): Plugin {
  const read = async (path: string) =>
    changes?.get(relative(root, path)) ?? (await readFile(path, 'utf8'))
  return {
    name: 'product',
    setup(builder) {
      builder.onResolve({ filter: new RegExp(`^${STANDBY_NAMESPACE}:`) }, ({ path }) => {
        const files = path.slice(STANDBY_NAMESPACE.length + 1).split('+')
        const [script = '', ...onDemand] = files.map((file) => join(root, file))
        return { path: script, namespace: STANDBY_NAMESPACE, pluginData: onDemand }
      })
      builder.onLoad({ filter: /.*/, namespace: STANDBY_NAMESPACE }, async (loaded) => ({
        contents: standBy(loaded.path, await read(loaded.path), loaded.pluginData as string[]),
        resolveDir: dirname(loaded.path),
        loader: 'ts',
      }))
      builder.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const text = await read(path)
        // Files beside the source are found by `import.meta.url`, so it must not name the bundle.
        const url = JSON.stringify(pathToFileURL(path).href)
        return { contents: text.replaceAll('import.meta.url', url), loader: 'ts' }
      })
    },
  }
}

function standBy(script: string, text: string, onDemand: readonly string[]): string {
  const imported = [...text.matchAll(VALUE_IMPORT)].map(([, name]) => name)
  return [
    ...[...imported, ...onDemand].map((name) => `import '${name}'`),
    `import { standBy } from ${JSON.stringify(STAND_BY)}`,
    `standBy(() => import(${JSON.stringify(script)}))`,
  ].join('\n')
}
