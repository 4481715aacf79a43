// Splits a stream of Redis's protocol, version 3, into whole values: a command of a client, or a reply.
// See https://redis.io/docs/latest/develop/reference/protocol-spec/

const LINE_END = '\r\n'
/** Their length, and so many bytes, follow the type. Null has the length -1. */
const TEXTS = '$=!'
/** So many values follow each member that is counted. */
const MEMBERS: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2 }

export class RespReader {
  #rest: Buffer = Buffer.alloc(0)

  /** The values that are whole now, in order. The rest waits for more. */
  read(chunk: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const values: Buffer[] = []
    for (;;) {
      const end = endOfValue(this.#rest, 0)
      if (end === undefined) return values
      values.push(this.#rest.subarray(0, end))
      this.#rest = this.#rest.subarray(end)
    }
  }
}

/** Returns undefined when the value that begins there is not whole. */
function endOfValue(bytes: Buffer, from: number): number | undefined {
  const lineEnd = bytes.indexOf(LINE_END, from)
  if (lineEnd < 0) return undefined
  const type = bytes.toString('latin1', from, from + 1)
  const count = Number(bytes.toString('latin1', from + 1, lineEnd))
  let end: number | undefined = lineEnd + LINE_END.length
  if (TEXTS.includes(type)) {
    if (count >= 0) end += count + LINE_END.length
    return end <= bytes.length ? end : undefined
  }
  const members = type in MEMBERS ? count * (MEMBERS[type] ?? 0) : 0
  for (let member = 0; member < members && end !== undefined; member += 1) {
    end = endOfValue(bytes, end)
  }
  return end
}

/** The verb of a command, in lower case, and its first argument. */
export function readCommand(command: Buffer): { verb: string; name: string } {
  const [, , verb = '', , name = ''] = command.toString('latin1').split(LINE_END)
  return { verb: verb.toLowerCase(), name }
}
