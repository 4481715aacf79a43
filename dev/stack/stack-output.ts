// What `npm start` prints: each part's lines behind its name, and JSON log lines made readable.
import { styleText } from 'node:util'
import pinoPretty from 'pino-pretty'

const PART_COLORS = {
  stack: 'gray',
  postgres: 'blue',
  provider: 'magenta',
  api: 'cyan',
  worker: 'yellow',
} as const

export type PartName = keyof typeof PART_COLORS

const LONGEST_NAME = Math.max(...Object.keys(PART_COLORS).map((name) => name.length))

const render = pinoPretty.prettyFactory({
  // `styleText` below decides by the same rules: a terminal, and no NO_COLOR.
  colorize: process.stdout.isTTY && process.stdout.hasColors(),
  ignore: 'pid,hostname,name,process',
  singleLine: true,
  translateTime: 'SYS:HH:MM:ss.l',
})

/** Returns the function that prints a line of one part: a pino line made readable, others as they are. */
export function createPartLog(part: PartName): (line: string) => void {
  const prefix = styleText(PART_COLORS[part], `${part.padEnd(LONGEST_NAME)} |`)
  return (line) => {
    for (const text of render(line).trimEnd().split('\n')) print(`${prefix} ${text}`)
  }
}

/** Prints text as it is. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
