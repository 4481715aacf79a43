// The Dockerfile as its instructions, for the tests that hold it to the repository.
import { readFileSync } from 'node:fs'

export interface Instruction {
  readonly name: string
  readonly text: string
}

/** The stages in order, each with its instructions; the first of each is its FROM. */
export function readStages(): Instruction[][] {
  const stages: Instruction[][] = []
  for (const line of logicalLines()) {
    const [, name = '', text = ''] = /^(\w+)\s+(.*)$/s.exec(line) ?? []
    if (name === 'FROM') stages.push([])
    stages.at(-1)?.push({ name, text })
  }
  return stages
}

export function dockerfileText(): string {
  return readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')
}

/** Without comments, and continued lines in one. */
function logicalLines(): string[] {
  return dockerfileText()
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
}

/** The arguments of an instruction in exec form. */
export function execForm(text: string): string[] {
  return JSON.parse(text) as string[]
}

/** What the final stage takes out of the repository. */
export function copiedPaths(): string[] {
  const copies = (readStages().at(-1) ?? []).filter(
    ({ name, text }) => name === 'COPY' && !text.startsWith('--from='),
  )
  return copies.flatMap(({ text }) => text.split(/\s+/).slice(0, -1))
}

/** The environment that the final stage sets. */
export function imageEnvironment(): Record<string, string> {
  const lines = (readStages().at(-1) ?? []).filter(({ name }) => name === 'ENV')
  return Object.fromEntries(
    lines.flatMap(({ text }) =>
      text.split(/\s+/).map((pair) => pair.split('=') as [string, string]),
    ),
  )
}
