// Reads the Kubernetes manifests and checks them against the types and schemas of Kubernetes, for the
// tests that compare them with the repository.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { parse, parseAllDocuments } from 'yaml'
import { ROOT } from './compose.ts'

const FOLDER = join(ROOT, 'deploy', 'kubernetes')
/** Exists only for the compiler. */
const CHECKED_FILE = join(ROOT, 'test', 'deploy', 'manifests.ts')

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly [member: string]: unknown
}

interface Container {
  readonly image: string
  readonly command?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly envFrom: readonly Readonly<
    Record<'configMapRef' | 'secretRef', { name: string } | undefined>
  >[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly [member: string]: unknown
}

/** What a Deployment or a Job runs. */
export interface Workload extends Manifest {
  readonly spec: {
    readonly replicas?: number
    readonly strategy?: { readonly rollingUpdate: { readonly maxSurge: number } }
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds?: number
        readonly containers: readonly [Container]
      }
    }
  }
}

export const kustomization = parse(readFileSync(join(FOLDER, 'kustomization.yaml'), 'utf8')) as {
  readonly resources: readonly string[]
  readonly images: readonly { readonly name: string }[]
}

export function readManifests(file: string): Manifest[] {
  const documents = parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8'))
  return documents.map((document) => document.toJS() as Manifest)
}

/**
 * Returns what Kubernetes refuses, or ignores silently: the compiler finds unknown members, the
 * validator of the model wrong values.
 */
export async function findManifestErrors({
  apiVersion,
  kind,
  ...rest
}: Manifest): Promise<string[]> {
  const module = `kubernetes-models/${apiVersion}/${kind}`
  const models = (await import(module)) as Record<
    string,
    new (data: unknown) => { validate(): void }
  >
  const Model = models[kind]
  if (Model === undefined) throw new Error(`there is no ${kind} in ${module}`)
  const errors = compile(
    `import type { I${kind} } from '${module}'\n` +
      `export const manifest: I${kind} = ${JSON.stringify({ apiVersion, kind, ...rest })}\n`,
  )
  try {
    new Model(rest).validate()
    return errors
  } catch (error) {
    return [...errors, (error as Error).message]
  }
}

const options: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  noEmit: true,
  skipLibCheck: true,
  strict: true,
  types: [],
}
/** The files that the last program has read are not parsed again. */
let last: ts.Program | undefined

function compile(source: string): string[] {
  const host = ts.createCompilerHost(options)
  const readSource = host.getSourceFile.bind(host)
  const known = last
  host.getSourceFile = (file, ...rest) =>
    file === CHECKED_FILE
      ? ts.createSourceFile(file, source, ts.ScriptTarget.ESNext)
      : (known?.getSourceFile(file) ?? readSource(file, ...rest))
  last = ts.createProgram([CHECKED_FILE], options, host)
  return ts
    .getPreEmitDiagnostics(last)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}
