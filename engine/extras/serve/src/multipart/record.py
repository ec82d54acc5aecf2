"""Records how Werkzeug decodes multipart bodies: `python record.py > bodies.json`.

Each record has the header `Content-Type`, the body, and the content of the first file in the field `file`. The content is
null if there is no file or if the body is invalid. Bodies and contents are strings with one character per byte. Needs
Werkzeug 3.1.
"""

import io
import json
import random
import sys

from werkzeug.formparser import FormDataParser
from werkzeug.http import parse_options_header

PLAIN = 'multipart/form-data; boundary=b'
DISPOSITION = b'Content-Disposition: form-data; name="file"; filename="a.csv"'


def part(content=b"x,y\r\n1,2\r\n", header=DISPOSITION, line=b"\r\n", start=b"--b"):
    return start + line + header + line + line + content


def whole(*parts, line=b"\r\n", end=b"--b--\r\n"):
    return b"".join(one + line for one in parts) + end


def chosen():
    """Bodies that clients send, and bodies that are accepted only because the framework is lenient."""
    yield PLAIN, whole(part())
    for line in (b"\n", b"\r"):
        yield PLAIN, whole(part(line=line), line=line)
        yield PLAIN, whole(part(b"a\r\n\r\nb", line=line), line=line)
    for content in (b"", b"\n", b"\r\n", b"--", b"--b", b"\r\n--bb\r\n", b"\n--b-\r\n", b"\r\n--b x\r\n", b"\r\r\n", b"-" * 50, b"\r\n--"):
        yield PLAIN, whole(part(content))
    for start in (b"--b \t", b"--b" + b" " * 100, b"preamble\r\n--b", b"preamble--b", b"--bb\r\n--b", b"\r\n--b", b"-b\r\n--b"):
        yield PLAIN, whole(part(start=start))
    for end in (b"--b--", b"--b-- \r\nepilogue", b"--b--epilogue", b"--b-", b"--b", b"--b\r\n", b""):
        yield PLAIN, whole(part(), end=end)
    for header in (
        b'content-disposition:FORM-DATA;NAME=file;FILENAME=a',
        b'Content-Disposition: attachment; filename=a.csv; name=file',
        b'Content-Disposition: form-data; name="file"; filename=""',
        b'Content-Disposition: form-data; name="file"',
        b'Content-Disposition: form-data; filename="a.csv"',
        b'Content-Disposition: form-data; name="f\\"ile"; filename="a"',
        b'Content-Disposition: form-data; name="file"; filename="a;b.csv"',
        b'Content-Disposition: form-data; name="file"; filename="a\\"b; name=other"',
        "Content-Disposition: form-data; name=\"file\"; filename=\"zähl.csv\"".encode(),
        b"Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''z%C3%A4hl.csv",
        b"Content-Disposition: form-data; name=\"file\"; filename*0=\"a\"; filename*1=\".csv\"",
        b'Content-Disposition: form-data;\r\n name="file";\r\n\tfilename="a.csv"',
        b'Content-Disposition : form-data; name="file"; filename="a.csv"',
        b'Content-Disposition: form-data; name="file"; filename="unclosed',
        b'Content-Disposition: form-data; name=file; name=other; filename=a',
        b'Content-Disposition: form-data; ; =x; name = "file"; filename="a"',
        b'Content-Disposition: form-data; name="file"; junk; filename="a"',
        b'Content-Disposition: form-data',
        b'Content-Type: text/csv',
        b'no header at all',
        b"".join(b"X-%d: y\r\n" % n for n in range(60)) + DISPOSITION,
        DISPOSITION + b"\r\nContent-Transfer-Encoding: base64\r\nContent-Type: text/csv; charset=utf-16",
    ):
        yield PLAIN, whole(part(header=header))
    other = b'Content-Disposition: form-data; name="other"'
    yield PLAIN, whole(part(b"1", other), part())
    yield PLAIN, whole(part(b"1", other))
    yield PLAIN, whole(part(b"first"), part(b"second"))
    yield PLAIN, whole(part(b"ok"), part(b"", b"broken"))
    for kind in (
        'Multipart/Form-Data; Boundary="b"', "multipart/form-data; charset=utf-8; boundary=b", "multipart/form-data",
        "multipart/form-data; boundary=", "multipart/mixed; boundary=b", "text/csv", "multipart/form-data;boundary=b;x", "",
    ):
        yield kind, whole(part())
    yield "multipart/form-data; boundary=----WebKit'()+_,./:=?", whole(part())
    yield 'multipart/form-data; boundary="a b"', whole(part(start=b"--a b"), end=b"--a b--")


def mutated(count):
    """Bodies in which random bytes were removed, repeated or replaced."""
    generator = random.Random(1)
    words = [b"\r", b"\n", b"\r\n", b"--b", b"--b--", b" ", b"-", b";", b'"', DISPOSITION, b"x"]
    for _ in range(count):
        body = bytearray(whole(part(), part(b"second", DISPOSITION)))
        for _ in range(generator.randint(1, 4)):
            at = generator.randrange(len(body))
            body[at:at + generator.choice((0, 0, 1, 2))] = generator.choice([b"", *words])
        yield PLAIN, bytes(body)


def read(kind, body):
    mimetype, options = parse_options_header(kind)
    try:
        _, _, files = FormDataParser(silent=True).parse(io.BytesIO(body), mimetype.lower(), len(body), options)
    except Exception:
        return None
    file = files.get("file")
    return None if file is None else file.read().decode("latin-1")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    records = [[kind, body.decode("latin-1"), read(kind, body)] for kind, body in [*chosen(), *mutated(count)]]
    print("[" + ",\n".join(json.dumps(record) for record in records) + "]")
