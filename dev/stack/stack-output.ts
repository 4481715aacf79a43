// Prints the output of `npm start`: prefixes each line with the name of its part, and turns JSON
// log lines into readable text.
import { styleText } from 'node:util'
import pinoPretty from 'pino-pretty'

const PART_COLORS = {
  stack: 'gray',
  postgres: 'blue',
  provider: 'magenta',
  api: 'cyan',
  worker: 'yellow',
  webhooks: 'green',
} as const

export type PartName = keyof typeof PART_COLORS

const LONGEST_NAME = Math.max(...Object.keys(PART_COLORS).map((name) => name.length))

const render = pinoPretty.prettyFactory({
  // `styleText` below applies the same rule: colors only on a terminal and without NO_COLOR.
  colorize: process.stdout.isTTY && process.stdout.hasColors(),
  ignore: 'pid,hostname,name,process',
  singleLine: true,
  translateTime: 'SYS:HH:MM:ss.l',
})

/** Returns a function that prints the lines of one part. Lines without JSON stay as they are. */
export function createPartLog(part: PartName): (line: string) => void {
  const prefix = styleText(PART_COLORS[part], `${part.padEnd(LONGEST_NAME)} |`)
  return (line) => {
    for (const text of render(line).trimEnd().split('\n')) print(`${prefix} ${text}`)
  }
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
