"""Carries connections to PORT of this Pod to HOST:PORT: `python forward.py HOST PORT`. A head Pod without a Ray of its own."""

import asyncio
import sys

HOST, PORT = sys.argv[1], int(sys.argv[2])


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    there_reader, there_writer = await asyncio.open_connection(HOST, PORT)
    await asyncio.gather(copy(reader, there_writer), copy(there_reader, writer))


async def main() -> None:
    server = await asyncio.start_server(carry, "0.0.0.0", PORT)
    async with server:
        await server.serve_forever()


asyncio.run(main())
