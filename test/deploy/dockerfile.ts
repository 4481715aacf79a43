// Parses the Dockerfile into stages and instructions, for the tests that compare it with the
// repository.
import { readFileSync } from 'node:fs'

export interface Instruction {
  readonly name: string
  readonly text: string
}

/**
 * Returns the instructions of each stage in order. The first instruction of a stage is its FROM.
 */
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

/** Returns the lines without comments, with continued lines joined. */
function logicalLines(): string[] {
  return dockerfileText()
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
}

/** Parses the arguments of an instruction in exec form. */
export function execForm(text: string): string[] {
  return JSON.parse(text) as string[]
}

/** Returns the instructions of a stage, after those of the stages that it is based on. */
export function stageNamed(name: string): Instruction[] {
  const stages = readStages()
  const named = stages.find(([from]) => from?.text.endsWith(` AS ${name}`))
  if (named === undefined) return []
  const [base = ''] = named[0]?.text.split(' ') ?? []
  return [...stageNamed(base), ...named]
}

/** Returns the paths of the repository that an image contains. */
export function copiedPaths(stage = 'service'): string[] {
  const copies = stageNamed(stage).filter(
    ({ name, text }) => name === 'COPY' && !text.startsWith('--from='),
  )
  return copies.flatMap(({ text }) => text.split(/\s+/).slice(0, -1))
}

/** Returns the environment variables that an image sets. */
export function imageEnvironment(stage = 'service'): Record<string, string> {
  const lines = stageNamed(stage).filter(({ name }) => name === 'ENV')
  return Object.fromEntries(
    lines.flatMap(({ text }) =>
      text.split(/\s+/).map((pair) => pair.split('=') as [string, string]),
    ),
  )
}
